// SPDX-License-Identifier: Apache-2.0
// The short names for arithmetic: they choose an opcode by the type of the first typed operand. Floats are
// rounded to nearest even explicitly, so that nothing is contracted behind the caller's back.
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

std::string_view KernelBuilder::word(std::initializer_list<std::string_view> parts) {
  scratch_.clear();
  for (const std::string_view part : parts) scratch_.append(part);
  return scratch_;
}

// The name of a function is that of its instruction, but for the words that C++ keeps for itself.
Reg KernelBuilder::binary(std::string_view mnemonic, const Operation& operation, Arg a, Arg b) {
  using Signs = Operation::Signs;
  const Type type = operation.type_of({a, b});
  const bool signs_matter = mnemonic == "div" || mnemonic == "rem";
  operation.require(type, {{"a", a}, {"b", b}}, signs_matter ? Signs::matter : Signs::alike);
  const Reg d = reg(type, operation.at);
  emit({word({mnemonic, rounding(type), type.name}), operation.at}, {d, a, b});
  return d;
}

Reg KernelBuilder::extreme(std::string_view name, Arg a, Arg b, Caller at) {
  const Operation operation{name, name_, number_, at};
  const Type type = operation.type_of({a, b});
  operation.require(type, {{"a", a}, {"b", b}});
  const Reg d = reg(type, at);
  emit({word({name, ".", type.name}), at}, {d, a, b});
  return d;
}

// On bits: whatever they mean to the caller, operands of one size go together.
Reg KernelBuilder::bitwise(std::string_view name, Arg a, Arg b, Caller at) {
  const Operation operation{name, name_, number_, at};
  const Type type = operation.type_of({a, b}), bits = bits_of(type);
  operation.require(bits, {{"a", a}, {"b", b}}, Operation::Signs::alike);
  const Reg d = reg(type, at);
  emit({word({name, ".", bits.name}), at}, {d, a, b});
  return d;
}

Reg KernelBuilder::mov(Type type, Arg a, Caller at) {
  Operation{"mov", name_, number_, at}.require(type, {{"a", a}}, Operation::Signs::alike);
  const Reg d = reg(type, at);
  emit({word({"mov.", type.bits < 32 || type.lanes > 1 ? bits_of(type).name : type.name}), at}, {d, a});
  return d;
}

Reg KernelBuilder::add(Arg a, Arg b, Caller at) { return binary("add", {"add", name_, number_, at}, a, b); }
Reg KernelBuilder::sub(Arg a, Arg b, Caller at) { return binary("sub", {"sub", name_, number_, at}, a, b); }
Reg KernelBuilder::mul(Arg a, Arg b, Caller at) {
  const Operation operation{"mul", name_, number_, at};
  return binary(operation.type_of({a, b}).is_float() ? "mul" : "mul.lo", operation, a, b);
}

Reg KernelBuilder::min(Arg a, Arg b, Caller at) { return extreme("min", a, b, at); }
Reg KernelBuilder::max(Arg a, Arg b, Caller at) { return extreme("max", a, b, at); }

Reg KernelBuilder::fma(Arg a, Arg b, Arg c, Caller at) {
  const Operation operation{"fma", name_, number_, at};
  const Type type = operation.type_of({a, b, c});
  operation.require(type, {{"a", a}, {"b", b}, {"c", c}}, Operation::Signs::alike);
  const Reg d = reg(type, at);
  emit({word({type.is_float() ? "fma.rn." : "mad.lo.", type.name}), at}, {d, a, b, c});
  return d;
}

Reg KernelBuilder::mul_wide(Arg a, Arg b, Caller at) {
  const Operation operation{"mul_wide", name_, number_, at};
  const Type type = operation.type_of({a, b});
  operation.require(type, {{"a", a}, {"b", b}});
  const Reg d = reg(doubled(type), at);
  emit({word({"mul.wide.", type.name}), at}, {d, a, b});
  return d;
}

Reg KernelBuilder::mad_wide(Arg a, Arg b, Reg c, Caller at) {
  const Operation operation{"mad_wide", name_, number_, at};
  const Type type = operation.type_of({a, b});
  operation.require(type, {{"a", a}, {"b", b}});
  operation.require(doubled(type), {{"c", c}}, Operation::Signs::alike);
  const Reg d = reg(c.type, at);
  emit({word({"mad.wide.", type.name}), at}, {d, a, b, c});
  return d;
}

Reg KernelBuilder::and_(Arg a, Arg b, Caller at) { return bitwise("and", a, b, at); }
Reg KernelBuilder::or_(Arg a, Arg b, Caller at) { return bitwise("or", a, b, at); }
Reg KernelBuilder::xor_(Arg a, Arg b, Caller at) { return bitwise("xor", a, b, at); }

Reg KernelBuilder::not_(Reg a, Caller at) {
  const Reg d = reg(a.type, at);
  emit({word({"not.", bits_of(a.type).name}), at}, {d, a});
  return d;
}

Reg KernelBuilder::shift(std::string_view name, Type type, Type as_word, Arg a, Arg bits, Caller at) {
  const Operation operation{name, name_, number_, at};
  operation.require(bits_of(type), {{"a", a}}, Operation::Signs::alike);
  // A register that counts down below 0 shifts everything out; a literal below 0 is a mistake.
  operation.require(u32, {{"bits", bits}},
                    bits.is_register() ? Operation::Signs::alike : Operation::Signs::matter);
  const Reg d = reg(type, at);
  emit({word({name, ".", as_word.name}), at}, {d, a, bits});
  return d;
}

Reg KernelBuilder::shl(Arg a, Arg bits, Caller at) {
  const Type type = Operation{"shl", name_, number_, at}.type_of({a});
  return shift("shl", type, bits_of(type), a, bits, at);
}

Reg KernelBuilder::shr(Arg a, Arg bits, Caller at) {
  const Type type = Operation{"shr", name_, number_, at}.type_of({a});
  return shift("shr", type, type.is_integer() ? type : bits_of(type), a, bits, at);
}

Reg KernelBuilder::compare(std::string_view relation, Arg a, Arg b, Caller at) {
  const Operation operation{relation, name_, number_, at};
  const Type type = operation.type_of({a, b});
  operation.require(type, {{"a", a}, {"b", b}});
  const Reg p = reg(pred, at);
  emit({word({"setp.", relation, ".", type.name}), at}, {p, a, b});
  return p;
}

Reg KernelBuilder::eq(Arg a, Arg b, Caller at) { return compare("eq", a, b, at); }
Reg KernelBuilder::ne(Arg a, Arg b, Caller at) { return compare("ne", a, b, at); }
Reg KernelBuilder::lt(Arg a, Arg b, Caller at) { return compare("lt", a, b, at); }
Reg KernelBuilder::le(Arg a, Arg b, Caller at) { return compare("le", a, b, at); }
Reg KernelBuilder::gt(Arg a, Arg b, Caller at) { return compare("gt", a, b, at); }
Reg KernelBuilder::ge(Arg a, Arg b, Caller at) { return compare("ge", a, b, at); }

Reg KernelBuilder::select(Reg predicate, Arg if_true, Arg if_false, Caller at) {
  const Operation operation{"select", name_, number_, at};
  operation.require_predicate(predicate);
  const Type type = operation.type_of({if_true, if_false});
  operation.require(type, {{"if_true", if_true}, {"if_false", if_false}}, Operation::Signs::alike);
  const Reg d = reg(type, at);
  emit({word({"selp.", type == f32 || type == f64 ? type.name : bits_of(type).name}), at},
       {d, if_true, if_false, predicate});
  return d;
}

// Which conversions take a rounding, and which, the specs say: the first spelling that exists is meant.
Reg KernelBuilder::convert(Type to, Reg a, Caller at) {
  Operation{"convert", name_, number_, at}.require_own("a", a.builder);
  const Reg d = reg(to, at);
  for (const std::string_view spelling : {"cvt.", "cvt.rn.", "cvt.rzi.", "cvt.rna."}) {
    if (!has(word({spelling, to.name, ".", a.type.name}))) continue;
    emit({word({spelling, to.name, ".", a.type.name}), at}, {d, a});
    return d;
  }
  const std::size_t none = kernel(at).operands.size();
  refuse("convert", specs().explain(word({"cvt.rn.", to.name, ".", a.type.name}), target_), none, at);
}

Reg KernelBuilder::pack(Type type, std::span<const Reg> parts, Caller at) {
  const Reg d = reg(type, at);
  emit({word({"mov.", bits_of(type).name}), at}, {d, parts});
  return d;
}

std::vector<Reg> KernelBuilder::unpack(Type part, Reg whole, Caller at) {
  if (part.bits == 0 || whole.type.bits % part.bits != 0)
    Operation{"unpack", name_, number_, at}.refuse(
        "operand-type",
        "a ." + std::string(whole.type.name) + " register has no whole number of ." + std::string(part.name),
        "unpack into parts of 8, 16, 32 or 64 bits");
  std::vector<Reg> parts = regs(part, whole.type.bits / part.bits, at);
  emit({word({"mov.", bits_of(whole.type).name}), at}, {parts, whole});
  return parts;
}

Reg KernelBuilder::global_thread_x(Caller at) {
  const Reg block = special("ctaid.x", at), size = special("ntid.x", at), thread = special("tid.x", at);
  return fma(block, size, thread, at);
}

}  // namespace ptxloom
