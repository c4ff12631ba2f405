// SPDX-License-Identifier: Apache-2.0
// Appends an instruction: its operands, the variant that fits them, the checks.
#include <algorithm>

#include "build/operation.hpp"
#include "ir/fit.hpp"
#include "ptxloom/check.hpp"
#include "spec/database.hpp"

namespace ptxloom {

// The first variant that fits. Forms are tried one after another, so that those after the match need not be
// compiled.
BuilderCore::Legal BuilderCore::find_legal(std::string_view text, std::span<const ir::Operand> operands,
                                           std::size_t pool_start, Caller at) {
  const ir::Kernel& k = kernel(at);
  for (std::size_t form = 0;; ++form) {
    const std::span<const Variant> candidates = specs().database().match_form(text, form);
    if (candidates.empty()) break;
    for (const Variant& candidate : candidates) {
      if (candidate.undocumented() || !ir::operands_fit(k, candidate.operands(), operands)) continue;
      const std::optional<Version> since = candidate.since(target_);
      if (since) return {.variant = candidate, .places = candidate.operands(), .since = *since};
    }
  }
  const std::span<const Variant> all = specs().database().match(text);
  if (all.empty()) refuse(text, specs().explain(text, target_), pool_start, at);
  Resolution resolution = ptxloom::resolve(k, all, operands, target_, &specs());
  if (resolution.diagnostic) refuse(text, std::move(*resolution.diagnostic), pool_start, at);
  const Variant& variant = resolution.variant;
  return {.variant = variant, .places = variant.operands(), .since = *variant.since(target_)};
}

bool BuilderCore::has(std::string_view text) {
  if (const auto known = has_.find(text); known != has_.end()) return known->second;
  const auto on_target = [&](const Variant& variant) { return variant.since(target_).has_value(); };
  const auto remember = [&](bool answer) { return has_.emplace(text, answer).first->second; };
  for (std::size_t form = 0;; ++form) {
    const std::span<const Variant> candidates = specs().database().match_form(text, form);
    if (candidates.empty()) break;
    if (std::ranges::any_of(candidates, on_target)) return remember(true);
  }
  return remember(std::ranges::any_of(specs().database().match(text), on_target));
}

// What belongs to the module (a constant) is valid in all its functions.
void BuilderCore::own(std::string_view text, std::size_t operand, const Arg& arg, Caller at) const {
  using Kind = ir::Operand::Kind;
  const Kind kind = arg.operand().kind;
  const bool symbol = kind == Kind::symbol || kind == Kind::address_symbol;
  if (!symbol && kind != Kind::reg && kind != Kind::address && kind != Kind::label) return;
  if (arg.builder() == scope_.number || (symbol && arg.builder() == module_number_)) return;
  operation(text, at).require_own(std::to_string(operand + 1), arg.builder());
}

// An address in a register does not tell its state space, but the array that it was made of does.
void BuilderCore::require_spaces(std::string_view text, std::span<const OperandSpec> places,
                                 std::span<const Arg> args, Caller at) const {
  for (std::size_t i = 0; i < std::min(places.size(), args.size()); ++i) {
    const std::string_view given = args[i].space(), wanted = places[i].space;
    if (given.empty() || places[i].kind != OperandSpec::Kind::address) continue;
    if (wanted.empty() || wanted == "-" || wanted.starts_with(given)) continue;
    operation(text, at).refuse("address-space",
                               "operand " + places[i].name + " is an address in ." + std::string(given) +
                                   ", but the instruction addresses ." + std::string(wanted),
                               "use an array in ." + std::string(wanted) + ", or another instruction");
  }
}

// The operands of an instruction are adjacent in the pool, preceded by the elements of its vectors.
std::span<const ir::Operand> BuilderCore::push_operands(std::string_view text, std::span<const Arg> args,
                                                        Caller at) {
  std::vector<ir::Operand>& pool = kernel(at).operands;
  for (std::size_t i = 0; i < args.size(); ++i) {
    own(text, i, args[i], at);
    if (!args[i].is_vector()) continue;
    for (const Reg& element : args[i].registers())
      if (element.builder != scope_.number) own(text, i, element, at);
    if (args[i].registers().empty())
      for (std::size_t n = 0; n < args[i].count(); ++n) own(text, i, args[i].element(n), at);
  }
  const auto push = [&](const Arg& arg) {
    pool.push_back(arg.operand());
    const ir::Operand::Kind kind = arg.operand().kind;
    if (kind == ir::Operand::Kind::label) scope_.labels[arg.operand().index].branch = at;
    const bool symbol = kind == ir::Operand::Kind::symbol || kind == ir::Operand::Kind::address_symbol;
    if (symbol && arg.builder() == module_number_) pool.back().index = symbol_of_variable(pool.back().index);
  };
  auto elements = static_cast<std::uint32_t>(pool.size());
  for (const Arg& arg : args) {
    if (!arg.is_vector()) continue;
    for (const Reg& element : arg.registers())
      pool.push_back({.kind = ir::Operand::Kind::reg, .index = element.id.id});
    if (arg.registers().empty())
      for (std::size_t n = 0; n < arg.count(); ++n) push(arg.element(n));
  }
  for (const Arg& arg : args) {
    push(arg);
    if (!arg.is_vector()) continue;
    pool.back().index = elements;
    elements += pool.back().count;
  }
  return std::span<const ir::Operand>(pool).last(args.size());
}

// Appends an instruction with the operands that were pushed last.
void BuilderCore::append(const Legal& legal, std::size_t operand_count, Caller at) {
  ir::Kernel& k = kernel(at);
  if (scope_.refuses_barriers && legal.variant.slot("meets")) {
    k.operands.resize(k.operands.size() - operand_count);
    operation(legal.variant.opcode(), at)
        .refuse("no-barrier-here",
                "not all threads reach this code, and those that do would wait for the others",
                "put the barrier where all threads pass; lanes of a warp exchange values by shuffles");
  }
  version_ = std::max(version_, legal.since);
  if (source_lines_) append_location(k, at);
  k.body.push_back({ir::Statement::Kind::instruction, static_cast<std::uint32_t>(k.instructions.size())});
  k.instructions.push_back({.variant = legal.variant,
                            .first_operand = static_cast<std::uint32_t>(k.operands.size() - operand_count),
                            .operand_count = static_cast<std::uint32_t>(operand_count),
                            .guard = scope_.guard});
}

void BuilderCore::refuse(std::string_view text, Diagnostic diagnostic, std::size_t first_operand, Caller at) {
  kernel(at).operands.resize(first_operand);
  if (diagnostic.severity == Severity::warning) {  // an undocumented form, which is fine in a text
    diagnostic.severity = Severity::error;
    diagnostic.message += ", so the builder does not emit it";
    diagnostic.hint = "`ptxloom show` lists the documented forms of an instruction";
  }
  diagnostic.message =
      place_of(at) + ": " + scope_.subject + ": " + std::string(text) + ": " + diagnostic.message;
  throw Error(ErrorKind::illegal_ptx, {std::move(diagnostic)});
}

void BuilderCore::emit_direct(const Opcode& opcode, std::span<const Arg> args) {
  if (opcode.variant()) {
    emit_variant(*opcode.variant(), args, opcode.at());
  } else {
    emit_text(opcode.text(), args, opcode.at());
  }
}

// The instructions that compute addresses of elements come first.
void BuilderCore::emit(const Opcode& opcode, std::initializer_list<Arg> args) {
  const auto indexed = [](const Arg& arg) { return arg.address() != nullptr; };
  if (std::ranges::none_of(args, indexed)) return emit_direct(opcode, args);
  const std::string text(opcode.variant() ? opcode.variant()->opcode() : opcode.text());  // must not alias
                                                                                          // scratch_
  const std::vector<Arg> resolved = resolve_all(text, args, opcode.at());
  if (opcode.variant()) return emit_variant(*opcode.variant(), resolved, opcode.at());
  emit_text(text, resolved, opcode.at());
}

std::vector<Arg> BuilderCore::resolve_all(std::string_view text, std::span<const Arg> args, Caller at) {
  kernel(at);
  std::vector<Arg> resolved(args.begin(), args.end());
  for (Arg& arg : resolved)
    if (arg.address() != nullptr) arg = resolve(operation(text, at), *arg.address());
  return resolved;
}

void BuilderCore::emit_text(std::string_view text, std::span<const Arg> args, Caller at) {
  const std::size_t pool_start = kernel(at).operands.size();
  const std::span<const ir::Operand> operands = push_operands(text, args, at);
  auto last = opcodes_.find(text);
  if (last == opcodes_.end()) {
    last = opcodes_.emplace(text, find_legal(text, operands, pool_start, at)).first;
  } else if (!ir::operands_fit(kernel(at), last->second.places, operands)) {
    last->second = find_legal(text, operands, pool_start, at);
  }
  require_spaces(text, last->second.places, args, at);
  append(last->second, args.size(), at);
}

void BuilderCore::emit_variant(const Variant& variant, std::span<const Arg> args, Caller at) {
  const std::size_t pool_start = kernel(at).operands.size();
  const Legal& legal = legal_.of(variant, [&](const Variant& asked) {
    const std::optional<Version> since = asked.since(target_);
    if (!since || asked.undocumented())
      refuse(asked.opcode(), specs().explain(asked.opcode(), target_), pool_start, at);
    return Legal{.variant = held(asked, specs()), .places = asked.operands(), .since = *since};
  });
  const std::span<const ir::Operand> operands = push_operands(variant.opcode(), args, at);
  if (!ir::operands_fit(kernel(at), legal.places, operands))
    refuse(variant.opcode(), *check_operands(kernel(at), variant, operands), pool_start, at);
  require_spaces(variant.opcode(), legal.places, args, at);
  append(legal, args.size(), at);
}

}  // namespace ptxloom
