// SPDX-License-Identifier: Apache-2.0
// The short names for arithmetic choose an opcode by the type of the first typed operand. Floats use explicit
// round-to-nearest-even, so that nothing is contracted without the caller's knowledge.
#include "build/operation.hpp"

namespace ptxloom {
namespace {

Type bits_of(Type type) {
  if (type.kind == TypeKind::predicate) return type;
  return type.bits <= 16 ? b16 : type.bits <= 32 ? b32 : b64;
}

Type doubled(Type type) {
  const bool is_signed = type.is_signed();
  if (type.bits == 16) return is_signed ? s32 : u32;
  return is_signed ? s64 : u64;
}

std::string_view rounding(Type type) { return type.is_float() ? ".rn." : "."; }

}  // namespace

// A function is named after its instruction, except where that is a C++ keyword.
Reg ArithmeticBuilder::binary(std::string_view mnemonic, const Operation& here, Arg a, Arg b) {
  using Signs = Operation::Signs;
  const Type type = here.type_of({a, b});
  const bool signs_matter = mnemonic == "div" || mnemonic == "rem";
  here.require(type, {{"a", a}, {"b", b}}, signs_matter ? Signs::matter : Signs::alike);
  const Reg d = reg(type, here.at);
  emit({word({mnemonic, rounding(type), type.name}), here.at}, {d, a, b});
  return d;
}

Reg ArithmeticBuilder::extreme(std::string_view name, Arg a, Arg b, Caller at) {
  const Operation here = operation(name, at);
  const Type type = here.type_of({a, b});
  here.require(type, {{"a", a}, {"b", b}});
  const Reg d = reg(type, at);
  emit({word({name, ".", type.name}), at}, {d, a, b});
  return d;
}

// Bitwise: operands of the same size go together, whatever their types.
Reg ArithmeticBuilder::bitwise(std::string_view name, Arg a, Arg b, Caller at) {
  const Operation here = operation(name, at);
  const Type type = here.type_of({a, b}), bits = bits_of(type);
  here.require(bits, {{"a", a}, {"b", b}}, Operation::Signs::alike);
  const Reg d = reg(type, at);
  emit({word({name, ".", bits.name}), at}, {d, a, b});
  return d;
}

void ArithmeticBuilder::emit_mov(Reg target, Arg value, Caller at) {
  const Type type = target.type;
  emit({word({"mov.", type.bits < 32 || type.lanes > 1 ? bits_of(type).name : type.name}), at},
       {target, value});
}

Reg ArithmeticBuilder::mov(Type type, Arg a, Caller at) {
  operation("mov", at).require(type, {{"a", a}}, Operation::Signs::alike);
  const Reg d = reg(type, at);
  emit_mov(d, a, at);
  return d;
}

void ArithmeticBuilder::set(Reg target, Arg value, Caller at) {
  const Operation here = operation("set", at);
  here.require_own("target", target.builder);
  here.require(target.type, {{"value", value}}, Operation::Signs::alike);
  emit_mov(target, value, at);
}

Reg ArithmeticBuilder::add(Arg a, Arg b, Caller at) { return binary("add", operation("add", at), a, b); }
Reg ArithmeticBuilder::sub(Arg a, Arg b, Caller at) { return binary("sub", operation("sub", at), a, b); }
Reg ArithmeticBuilder::mul(Arg a, Arg b, Caller at) {
  const Operation here = operation("mul", at);
  return binary(here.type_of({a, b}).is_float() ? "mul" : "mul.lo", here, a, b);
}

Reg ArithmeticBuilder::unary(std::string_view name, Arg a, Caller at) {
  const Type type = operation(name, at).type_of({a});
  operation(name, at).require(type, {{"a", a}});
  const Reg d = reg(type, at);
  emit({word({name, ".", type.name}), at}, {d, a});
  return d;
}

Reg ArithmeticBuilder::neg(Arg a, Caller at) { return unary("neg", a, at); }
Reg ArithmeticBuilder::abs(Arg a, Caller at) { return unary("abs", a, at); }

Reg ArithmeticBuilder::min(Arg a, Arg b, Caller at) { return extreme("min", a, b, at); }
Reg ArithmeticBuilder::max(Arg a, Arg b, Caller at) { return extreme("max", a, b, at); }

Reg ArithmeticBuilder::fma(Arg a, Arg b, Arg c, Caller at) {
  const Operation here = operation("fma", at);
  const Type type = here.type_of({a, b, c});
  here.require(type, {{"a", a}, {"b", b}, {"c", c}}, Operation::Signs::alike);
  const Reg d = reg(type, at);
  emit({word({type.is_float() ? "fma.rn." : "mad.lo.", type.name}), at}, {d, a, b, c});
  return d;
}

Reg ArithmeticBuilder::mul_wide(Arg a, Arg b, Caller at) {
  const Operation here = operation("mul_wide", at);
  const Type type = here.type_of({a, b});
  here.require(type, {{"a", a}, {"b", b}});
  const Reg d = reg(doubled(type), at);
  emit({word({"mul.wide.", type.name}), at}, {d, a, b});
  return d;
}

Reg ArithmeticBuilder::mad_wide(Arg a, Arg b, Reg c, Caller at) {
  const Operation here = operation("mad_wide", at);
  const Type type = here.type_of({a, b});
  here.require(type, {{"a", a}, {"b", b}});
  here.require(doubled(type), {{"c", c}}, Operation::Signs::alike);
  const Reg d = reg(c.type, at);
  emit({word({"mad.wide.", type.name}), at}, {d, a, b, c});
  return d;
}

Reg ArithmeticBuilder::and_(Arg a, Arg b, Caller at) { return bitwise("and", a, b, at); }
Reg ArithmeticBuilder::or_(Arg a, Arg b, Caller at) { return bitwise("or", a, b, at); }
Reg ArithmeticBuilder::xor_(Arg a, Arg b, Caller at) { return bitwise("xor", a, b, at); }

Reg ArithmeticBuilder::not_(Reg a, Caller at) {
  const Reg d = reg(a.type, at);
  emit({word({"not.", bits_of(a.type).name}), at}, {d, a});
  return d;
}

Reg ArithmeticBuilder::shift(std::string_view name, Type type, Type as_word, Arg a, Arg bits, Caller at) {
  const Operation here = operation(name, at);
  here.require(bits_of(type), {{"a", a}}, Operation::Signs::alike);
  // A register that counts below 0 shifts everything out; a negative literal is an error.
  here.require(u32, {{"bits", bits}},
               bits.is_register() ? Operation::Signs::alike : Operation::Signs::matter);
  const Reg d = reg(type, at);
  emit({word({name, ".", as_word.name}), at}, {d, a, bits});
  return d;
}

Reg ArithmeticBuilder::shl(Arg a, Arg bits, Caller at) {
  const Type type = operation("shl", at).type_of({a});
  return shift("shl", type, bits_of(type), a, bits, at);
}

Reg ArithmeticBuilder::shr(Arg a, Arg bits, Caller at) {
  const Type type = operation("shr", at).type_of({a});
  return shift("shr", type, type.is_integer() ? type : bits_of(type), a, bits, at);
}

Reg ArithmeticBuilder::compare(std::string_view relation, Arg a, Arg b, Caller at) {
  const Operation here = operation(relation, at);
  const Type type = here.type_of({a, b});
  here.require(type, {{"a", a}, {"b", b}});
  const Reg p = reg(pred, at);
  emit({word({"setp.", relation, ".", type.name}), at}, {p, a, b});
  return p;
}

Reg ArithmeticBuilder::eq(Arg a, Arg b, Caller at) { return compare("eq", a, b, at); }
Reg ArithmeticBuilder::ne(Arg a, Arg b, Caller at) { return compare("ne", a, b, at); }
Reg ArithmeticBuilder::lt(Arg a, Arg b, Caller at) { return compare("lt", a, b, at); }
Reg ArithmeticBuilder::le(Arg a, Arg b, Caller at) { return compare("le", a, b, at); }
Reg ArithmeticBuilder::gt(Arg a, Arg b, Caller at) { return compare("gt", a, b, at); }
Reg ArithmeticBuilder::ge(Arg a, Arg b, Caller at) { return compare("ge", a, b, at); }

Reg ArithmeticBuilder::select(Reg predicate, Arg if_true, Arg if_false, Caller at) {
  const Operation here = operation("select", at);
  here.require_predicate(predicate);
  const Type type = here.type_of({if_true, if_false});
  here.require(type, {{"if_true", if_true}, {"if_false", if_false}}, Operation::Signs::alike);
  const Reg d = reg(type, at);
  emit({word({"selp.", type == f32 || type == f64 ? type.name : bits_of(type).name}), at},
       {d, if_true, if_false, predicate});
  return d;
}

// Some types have only an approximation that flushes subnormals: the specs say which.
Reg ArithmeticBuilder::approximate(std::string_view name, std::string_view mnemonic, Arg a, Caller at) {
  const Operation here = operation(name, at);
  const Type type = here.type_of({a});
  here.require(type, {{"a", a}});
  const bool plain = has(word({mnemonic, ".approx.", type.name}));
  const bool flushes = !plain && has(word({mnemonic, ".approx.ftz.", type.name}));
  const Reg d = reg(type, at);
  emit({word({mnemonic, flushes ? ".approx.ftz." : ".approx.", type.name}), at}, {d, a});
  return d;
}

Reg ArithmeticBuilder::exp2(Arg a, Caller at) { return approximate("exp2", "ex2", a, at); }
Reg ArithmeticBuilder::log2(Arg a, Caller at) { return approximate("log2", "lg2", a, at); }
Reg ArithmeticBuilder::rcp(Arg a, Caller at) { return approximate("rcp", "rcp", a, at); }
Reg ArithmeticBuilder::sqrt(Arg a, Caller at) { return approximate("sqrt", "sqrt", a, at); }
Reg ArithmeticBuilder::rsqrt(Arg a, Caller at) { return approximate("rsqrt", "rsqrt", a, at); }
Reg ArithmeticBuilder::sin(Arg a, Caller at) { return approximate("sin", "sin", a, at); }
Reg ArithmeticBuilder::cos(Arg a, Caller at) { return approximate("cos", "cos", a, at); }
Reg ArithmeticBuilder::tanh(Arg a, Caller at) { return approximate("tanh", "tanh", a, at); }

// The specs say which conversions take a rounding, and which one: the first spelling that exists is used.
Reg ArithmeticBuilder::convert(Type to, Reg a, Caller at) {
  operation("convert", at).require_own("a", a.builder);
  const Reg d = reg(to, at);
  for (const std::string_view spelling : {"cvt.", "cvt.rn.", "cvt.rzi.", "cvt.rna."}) {
    if (!has(word({spelling, to.name, ".", a.type.name}))) continue;
    emit({word({spelling, to.name, ".", a.type.name}), at}, {d, a});
    return d;
  }
  const std::size_t none = kernel(at).operands.size();
  refuse("convert", specs().explain(word({"cvt.rn.", to.name, ".", a.type.name}), target_), none, at);
}

Reg ArithmeticBuilder::bit_cast(Type to, Reg a, Caller at) {
  if (a.type.bits != to.bits || a.type == pred)
    operation("bit_cast", at)
        .refuse("operand-type",
                "a ." + std::string(a.type.name) + " register does not have as many bits as a ." +
                    std::string(to.name),
                "convert it, or pack and unpack it");
  const Reg d = reg(to, at);
  emit({word({"mov.", bits_of(to).name}), at}, {d, a});
  return d;
}

Reg ArithmeticBuilder::pack(Type type, std::span<const Reg> parts, Caller at) {
  const Reg d = reg(type, at);
  emit({word({"mov.", bits_of(type).name}), at}, {d, parts});
  return d;
}

std::vector<Reg> ArithmeticBuilder::unpack(Type part, Reg whole, Caller at) {
  if (part.bits == 0 || whole.type.bits % part.bits != 0)
    operation("unpack", at)
        .refuse("operand-type",
                "a ." + std::string(whole.type.name) + " register is not a whole number of ." +
                    std::string(part.name),
                "unpack into parts of 8, 16, 32 or 64 bits");
  std::vector<Reg> parts = regs(part, whole.type.bits / part.bits, at);
  emit({word({"mov.", bits_of(whole.type).name}), at}, {parts, whole});
  return parts;
}

Reg ArithmeticBuilder::global_thread_x(Caller at) {
  const Reg block = special("ctaid.x", at), size = special("ntid.x", at), thread = special("tid.x", at);
  return fma(block, size, thread, at);
}

}  // namespace ptxloom
