// SPDX-License-Identifier: Apache-2.0
#include "text/read_call.hpp"

#include <string>

#include "text/constant.hpp"

namespace ptxloom::text {
namespace {

using Kind = ir::Operand::Kind;

Name read_name(TokenStream& in, Scopes& scopes, std::string_view what) {
  const Token& token = in.expect_name(what);
  const std::optional<Name> name = scopes.find(token.text);
  if (!name)
    fail(token, "undefined-name", "there is no function or register " + std::string(token.text),
         "declare it before it is used");
  return *name;
}

ir::Operand read_constant_operand(TokenStream& in) {
  const Constant constant = read_constant(in);
  switch (constant.kind) {
    case Constant::Kind::integer:
      return {.kind = Kind::integer, .value = constant.bits};
    case Constant::Kind::f32:
      return {.kind = Kind::f32, .value = constant.bits};
    case Constant::Kind::f64:
      break;
  }
  return {.kind = Kind::f64, .value = constant.bits};
}

// An argument or result: a register, a .param variable, a number; `_` for an unused result.
ir::Operand read_operand(TokenStream& in, Scopes& scopes) {
  if (in.accept("_")) return {.kind = Kind::sink};
  if (starts_constant(in.peek())) return read_constant_operand(in);
  const Token& at = in.peek();
  const Name name = read_name(in, scopes, "a register or a .param variable");
  if (name.kind == Name::Kind::reg) return {.kind = Kind::reg, .index = name.index};
  if (name.kind != Name::Kind::symbol)
    fail(at, "operand-kind", "a call cannot pass " + quoted(at), "a register, a .param variable or a number");
  return {.kind = Kind::symbol, .index = name.index};
}

std::uint32_t read_operands(TokenStream& in, ir::Function& function, Scopes& scopes) {
  std::uint32_t count = 0;
  in.expect("(");
  if (in.accept(")")) return count;
  do {
    function.operands.push_back(read_operand(in, scopes));
    ++count;
  } while (in.accept(","));
  in.expect(")");
  return count;
}

std::uint32_t read_label(TokenStream& in, Scopes& scopes) {
  const Token& at = in.peek();
  const Name name = read_name(in, scopes, "the label of .callprototype or .calltargets");
  if (name.kind != Name::Kind::label)
    fail(at, "operand-kind", "expected the label of .callprototype or .calltargets, found " + quoted(at));
  return name.index;
}

ir::Operand read_callee(TokenStream& in, ir::Function& function, Scopes& scopes) {
  const Token& at = in.peek();
  const Name name = read_name(in, scopes, "a function");
  if (name.kind == Name::Kind::reg) return {.kind = Kind::reg, .index = name.index};
  if (name.kind != Name::Kind::symbol || function.symbols[name.index].space != ir::Space::code)
    fail(at, "operand-kind", quoted(at) + " is not a function", "a function, or a register with its address");
  return {.kind = Kind::symbol, .index = name.index};
}

}  // namespace

bool is_call(const Token& opcode) { return opcode.is("call") || opcode.is("call.uni"); }

ir::Call read_call(TokenStream& in, ir::Function& function, Scopes& scopes) {
  ir::Call call{.callee = {}, .first_operand = static_cast<std::uint32_t>(function.operands.size())};
  call.uniform = in.next().is("call.uni");
  if (in.peek().is("(")) {
    call.result_count = read_operands(in, function, scopes);
    in.expect(",");
  }
  const Token& callee = in.peek();
  call.callee = read_callee(in, function, scopes);
  bool more = in.accept(",");
  if (more && in.peek().is("(")) {
    call.argument_count = read_operands(in, function, scopes);
    more = in.accept(",");
  }
  if (more) call.targets = read_label(in, scopes);
  const bool by_address = call.callee.kind == Kind::reg;
  if (by_address != call.targets.has_value())
    fail(callee, "operand-count",
         by_address ? "a call by address needs the label of its .callprototype or .calltargets"
                    : "a call by name cannot have a label",
         by_address ? "call (result), %address, (arguments), label;"
                    : "call (result), function, (arguments);");
  in.expect(";");
  return call;
}

ir::Targets read_targets(TokenStream& in, Scopes& scopes, std::uint32_t label) {
  const bool branch = in.next().is(".branchtargets");
  ir::Targets targets{.kind = branch ? ir::Targets::Kind::branch : ir::Targets::Kind::call, .label = label};
  const Name::Kind wanted = branch ? Name::Kind::label : Name::Kind::symbol;
  do {
    const Token& at = in.peek();
    const Name name = read_name(in, scopes, branch ? "a label" : "a function");
    if (name.kind != wanted)
      fail(at, "operand-kind", quoted(at) + " is not a " + (branch ? "label" : "function"));
    targets.names.push_back(name.index);
  } while (in.accept(","));
  in.expect(";");
  return targets;
}

}  // namespace ptxloom::text
