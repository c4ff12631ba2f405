// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "check/rules.hpp"
#include "ir/naming.hpp"

// Checks a call against its callee: the numbers of arguments and results must match, and each must have a
// type, size and alignment that ptxas passes. For an indirect call, the prototype or list of targets gives
// the interface.
namespace ptxloom::check_rules {
namespace {

using Kind = ir::Operand::Kind;

// An argument, result or parameter: a .param variable or a register.
struct Passed {
  Type type;
  std::uint64_t count = 1;
  std::uint64_t alignment = 0;
  bool array = false;
};

std::uint64_t alignment_of(std::uint32_t declared, const Type& type) {
  return declared != 0 ? declared : static_cast<std::uint64_t>(type.whole_bytes());
}

bool same_class(const Type& given, const Type& wanted) {
  if (given.kind == TypeKind::bits || wanted.kind == TypeKind::bits) return true;
  if (wanted.is_integer()) return given.is_integer() || given.lanes > 1;
  return given == wanted;
}

bool type_fits(const Passed& given, const ir::Parameter& wanted) {
  const bool array = wanted.count != 0 || wanted.unsized;
  if (given.array != array) return false;
  if (!array) return given.type.bits == wanted.type.bits && same_class(given.type, wanted.type);
  const bool bits = given.type.kind == TypeKind::bits || wanted.type.kind == TypeKind::bits;
  const bool size_fits =
      wanted.unsized || given.count * static_cast<std::uint64_t>(given.type.whole_bytes()) == wanted.size();
  return size_fits && (bits || given.type == wanted.type);
}

bool literal_fits(const ir::Operand& literal, const ir::Parameter& wanted) {
  if (wanted.count != 0 || wanted.unsized || wanted.type == pred) return false;
  return wanted.type.kind == TypeKind::bits || wanted.type.is_float() == (literal.kind != Kind::integer);
}

std::string describe(const ir::Parameter& parameter) {
  std::string text = "." + std::string(parameter.type.name);
  if (parameter.unsized) text += "[]";
  if (parameter.count != 0) text += "[" + std::to_string(parameter.count) + "]";
  return text;
}

class CallCheck {
 public:
  CallCheck(const Scope& scope, const ir::Call& call, Diagnostics& out)
      : scope_(scope), kernel_(scope.kernel), call_(call), out_(out) {}

  void run() {
    if (call_.guard && kernel_.registers[call_.guard->reg.id].type != pred)
      add("operand-type",
          "the guard @" + ir::name_of(kernel_.registers[call_.guard->reg.id]) + " is not a predicate",
          "make a predicate with setp");
    if (call_.callee.kind == Kind::reg) return by_address();
    by_name(call_.callee.index);
  }

 private:
  void add(std::string code, const std::string& message, std::string hint) {
    out_.push_back({.code = std::move(code),
                    .message = "call " + ir::text_of(kernel_, call_.callee) + ": " + message,
                    .hint = std::move(hint),
                    .line = static_cast<int>(call_.line),
                    .column = static_cast<int>(call_.column)});
  }

  void by_name(std::uint32_t symbol) {
    const std::string& name = kernel_.symbols[symbol].name;
    const ir::Function* const callee = scope_.of_module.function(name);
    if (callee == nullptr) return add("undefined-name", "there is no function " + name, "declare it");
    if (callee->entry) return add("operand-kind", name + " is an .entry", "call a .func");
    against(*callee);
  }

  void by_address() {
    const Type& type = kernel_.registers[call_.callee.index].type;
    if (type.bits < 32 || type.is_float() || type == pred)
      add("operand-type", "a ." + std::string(type.name) + " register cannot hold an address",
          "use a .b64 register");
    for (const ir::Prototype& prototype : kernel_.prototypes)
      if (prototype.label == call_.targets) return against(prototype);
    for (const ir::Targets& targets : kernel_.targets) {
      if (targets.label != call_.targets || targets.kind != ir::Targets::Kind::call) continue;
      for (const std::uint32_t name : targets.names) by_name(name);
      return;
    }
    add("operand-kind", "its label is not that of a .callprototype or .calltargets",
        "write one before the call");
  }

  void against(const ir::Interface& callee) {
    if (const auto refused = check_convention(scope_.module, callee, "is called"))
      return add(refused->code, refused->message, refused->hint);
    pass("argument", kernel_.arguments_of(call_), callee.parameters);
    pass("result", kernel_.results_of(call_), callee.results);
  }

  void pass(const std::string& what, std::span<const ir::Operand> given,
            std::span<const ir::Parameter> wanted) {
    const bool rest_left_out = !wanted.empty() && wanted.back().unsized && given.size() + 1 == wanted.size();
    if (given.size() != wanted.size() && !rest_left_out)
      return add(
          "operand-count",
          std::to_string(given.size()) + " " + what + "s given, but it has " + std::to_string(wanted.size()),
          "pass as many as its declaration has");
    for (std::size_t i = 0; i < given.size(); ++i)
      pass_one(what + " " + ir::text_of(kernel_, given[i]), what == "result", given[i], wanted[i]);
  }

  void pass_one(const std::string& what, bool result, const ir::Operand& given, const ir::Parameter& wanted) {
    if (given.kind == Kind::sink && result) return;
    if (given.kind == Kind::integer || given.kind == Kind::f32 || given.kind == Kind::f64) {
      if (result || !literal_fits(given, wanted)) mistyped(what, wanted);
      return;
    }
    const std::optional<Passed> passed = passed_by(given);
    if (!passed)
      return add(
          "operand-kind", what + " is neither a register nor a .param variable of this function",
          "store it with st.param in a .param variable declared like " + wanted.name + ", and pass that");
    if (!type_fits(*passed, wanted)) return mistyped(what, wanted);
    const std::uint64_t alignment = alignment_of(wanted.alignment, wanted.type);
    if (passed->alignment != alignment)
      add("operand-alignment",
          what + " is aligned to " + std::to_string(passed->alignment) + " bytes, but " + wanted.name +
              " to " + std::to_string(alignment),
          "declare it with .align " + std::to_string(alignment));
  }

  void mistyped(const std::string& what, const ir::Parameter& wanted) {
    add("operand-type", what + " does not fit " + wanted.name + ", a " + describe(wanted),
        "pass a register or .param variable of this type");
  }

  // Registers and .param variables of the function; its own parameters cannot be passed on.
  std::optional<Passed> passed_by(const ir::Operand& given) const {
    if (given.kind == Kind::reg) {
      const Type& type = kernel_.registers[given.index].type;
      return Passed{.type = type, .alignment = alignment_of(0, type)};
    }
    if (given.kind != Kind::symbol) return std::nullopt;
    for (const ir::Variable& variable : kernel_.variables)
      if (variable.space == ir::Space::function && variable.name == kernel_.symbols[given.index].name)
        return Passed{.type = variable.type,
                      .count = variable.count,
                      .alignment = alignment_of(variable.alignment, variable.type),
                      .array = variable.array || variable.count > 1};
    return std::nullopt;
  }

  const Scope& scope_;
  const ir::Kernel& kernel_;
  const ir::Call& call_;
  Diagnostics& out_;
};

}  // namespace

void check_call(const Scope& scope, const ir::Call& call, Diagnostics& out) {
  CallCheck(scope, call, out).run();
}

}  // namespace ptxloom::check_rules
