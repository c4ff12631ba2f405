// SPDX-License-Identifier: Apache-2.0
// The short names for arithmetic: they choose an opcode by the type of the first typed operand. Floats are
// rounded to nearest even explicitly, so that nothing is contracted behind the caller's back.
#include "ptxloom/builder.hpp"

namespace ptxloom {
namespace {

Type type_of(std::initializer_list<Arg> args) {
  for (const Arg& arg : args)
    if (arg.is_register()) return arg.type();
  for (const Arg& arg : args)
    if (arg.type().bits != 0) return arg.type();
  throw Error(ErrorKind::usage, "no-operand-type", "an operation on integer literals alone has no type",
              "compute it in C++, or mov one of them into a register");
}

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

Reg KernelBuilder::binary(std::string_view mnemonic, Arg a, Arg b) {
  const Type type = type_of({a, b});
  const Reg d = reg(type);
  emit(word({mnemonic, rounding(type), type.name}), d, a, b);
  return d;
}

Reg KernelBuilder::bitwise(std::string_view mnemonic, Arg a, Arg b) {
  const Type type = type_of({a, b});
  const Reg d = reg(type);
  emit(word({mnemonic, ".", bits_of(type).name}), d, a, b);
  return d;
}

Reg KernelBuilder::mov(Type type, Arg a) {
  const Reg d = reg(type);
  emit(word({"mov.", type.bits < 32 || type.lanes > 1 ? bits_of(type).name : type.name}), d, a);
  return d;
}

Reg KernelBuilder::add(Arg a, Arg b) { return binary("add", a, b); }
Reg KernelBuilder::sub(Arg a, Arg b) { return binary("sub", a, b); }
Reg KernelBuilder::mul(Arg a, Arg b) { return binary(type_of({a, b}).is_float() ? "mul" : "mul.lo", a, b); }

Reg KernelBuilder::min(Arg a, Arg b) {
  const Type type = type_of({a, b});
  const Reg d = reg(type);
  emit(word({"min.", type.name}), d, a, b);
  return d;
}

Reg KernelBuilder::max(Arg a, Arg b) {
  const Type type = type_of({a, b});
  const Reg d = reg(type);
  emit(word({"max.", type.name}), d, a, b);
  return d;
}

Reg KernelBuilder::fma(Arg a, Arg b, Arg c) {
  const Type type = type_of({a, b, c});
  const Reg d = reg(type);
  emit(word({type.is_float() ? "fma.rn." : "mad.lo.", type.name}), d, a, b, c);
  return d;
}

Reg KernelBuilder::mul_wide(Arg a, Arg b) {
  const Type type = type_of({a, b});
  const Reg d = reg(doubled(type));
  emit(word({"mul.wide.", type.name}), d, a, b);
  return d;
}

Reg KernelBuilder::mad_wide(Arg a, Arg b, Reg c) {
  const Type type = type_of({a, b});
  const Reg d = reg(c.type);
  emit(word({"mad.wide.", type.name}), d, a, b, c);
  return d;
}

Reg KernelBuilder::and_(Arg a, Arg b) { return bitwise("and", a, b); }
Reg KernelBuilder::or_(Arg a, Arg b) { return bitwise("or", a, b); }
Reg KernelBuilder::xor_(Arg a, Arg b) { return bitwise("xor", a, b); }
Reg KernelBuilder::shl(Arg a, Arg bits) { return bitwise("shl", a, bits); }

Reg KernelBuilder::not_(Reg a) {
  const Reg d = reg(a.type);
  emit(word({"not.", bits_of(a.type).name}), d, a);
  return d;
}

Reg KernelBuilder::shr(Arg a, Arg bits) {
  const Type type = type_of({a});
  const Reg d = reg(type);
  emit(word({"shr.", type.is_integer() ? type.name : bits_of(type).name}), d, a, bits);
  return d;
}

Reg KernelBuilder::compare(std::string_view relation, Arg a, Arg b) {
  const Type type = type_of({a, b});
  const Reg p = reg(pred);
  emit(word({"setp.", relation, ".", type.name}), p, a, b);
  return p;
}

Reg KernelBuilder::eq(Arg a, Arg b) { return compare("eq", a, b); }
Reg KernelBuilder::ne(Arg a, Arg b) { return compare("ne", a, b); }
Reg KernelBuilder::lt(Arg a, Arg b) { return compare("lt", a, b); }
Reg KernelBuilder::le(Arg a, Arg b) { return compare("le", a, b); }
Reg KernelBuilder::gt(Arg a, Arg b) { return compare("gt", a, b); }
Reg KernelBuilder::ge(Arg a, Arg b) { return compare("ge", a, b); }

Reg KernelBuilder::select(Reg predicate, Arg if_true, Arg if_false) {
  const Type type = type_of({if_true, if_false});
  const Reg d = reg(type);
  emit(word({"selp.", type == f32 || type == f64 ? type.name : bits_of(type).name}), d, if_true, if_false,
       predicate);
  return d;
}

// Which conversions take a rounding, and which, the specs say: the first spelling that exists is meant.
Reg KernelBuilder::convert(Type to, Reg a) {
  const Reg d = reg(to);
  for (const std::string_view spelling : {"cvt.", "cvt.rn.", "cvt.rzi.", "cvt.rna."}) {
    if (!has(word({spelling, to.name, ".", a.type.name}))) continue;
    emit(word({spelling, to.name, ".", a.type.name}), d, a);
    return d;
  }
  throw Error(ErrorKind::refused, {specs().explain(word({"cvt.rn.", to.name, ".", a.type.name}), target_)});
}

Reg KernelBuilder::pack(Type type, std::span<const Reg> parts) {
  const Reg d = reg(type);
  emit(word({"mov.", bits_of(type).name}), d, parts);
  return d;
}

std::vector<Reg> KernelBuilder::unpack(Type part, Reg whole) {
  std::vector<Reg> parts = regs(part, whole.type.bits / part.bits);
  emit(word({"mov.", bits_of(whole.type).name}), parts, whole);
  return parts;
}

Reg KernelBuilder::global_thread_x() {
  const Reg block = special("ctaid.x"), size = special("ntid.x"), thread = special("tid.x");
  return fma(block, size, thread);
}

}  // namespace ptxloom
