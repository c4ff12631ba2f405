// SPDX-License-Identifier: Apache-2.0
#include "build/operation.hpp"

#include <utility>

#include "spec/database.hpp"

namespace ptxloom {
namespace {

using Kind = ir::Operand::Kind;

std::string dotted(const Type& type) { return "." + std::string(type.name); }

bool is_untyped(const Type& type) { return type.kind == TypeKind::bits; }

/// Whether an integer literal is valid for the type. If signs do not matter, only the bits count: -1 as u32
/// is all ones.
bool fits(const Arg& literal, const Type& type, bool signs_alike) {
  if (type.bits == 0 || type.bits > 64) return true;
  const bool negative = literal.is_negative();
  const std::int64_t value = literal.operand().value;
  const std::int64_t least_signed = type.bits == 64 ? INT64_MIN : -(std::int64_t{1} << (type.bits - 1));
  const std::uint64_t most_unsigned = ~std::uint64_t{0} >> (64 - type.bits);
  const bool may_be_signed = type.is_signed() || signs_alike || is_untyped(type);
  const bool may_be_unsigned = !type.is_signed() || signs_alike;
  if (negative) return may_be_signed && value >= least_signed;
  const std::uint64_t most = may_be_unsigned ? most_unsigned : most_unsigned >> 1;
  return static_cast<std::uint64_t>(value) <= most;
}

std::string text_of(const Arg& literal) {
  const std::int64_t value = literal.operand().value;
  return literal.is_negative() ? std::to_string(value) : std::to_string(static_cast<std::uint64_t>(value));
}

// A type of less than 16 bits is held in a .b16 register, so only its name changes.
std::string bits_call(Type type) {
  return type.bits < 16
             ? "as(" + std::string(type.name) + ", mov(b16, bits))"
             : "bit_cast(" + std::string(type.name) + ", mov(b" + std::to_string(type.bits) + ", bits))";
}

}  // namespace

std::string place_of(const Caller& at) {
  const std::string_view path = at.file_name();
  return std::string(path.substr(path.find_last_of("/\\") + 1)) + ":" + std::to_string(at.line());
}

Variant held(const Variant& variant, const Specs& specs) {
  const bool own = &variant.data()->form->vocabulary() == &specs.database().vocabulary();
  return own ? Variant(variant.data()) : variant;
}

void BuilderCore::Operation::refuse(const char* code, const std::string& what, std::string hint) const {
  throw Error(ErrorKind::usage, code,
              place_of(at) + ": " + std::string(subject) + ": " + std::string(name) + ": " + what,
              std::move(hint));
}

Type BuilderCore::Operation::type_of(std::initializer_list<Arg> args) const {
  for (const Arg& arg : args)
    if (arg.is_register() && !is_untyped(arg.type())) return arg.type();
  for (const Arg& arg : args)
    if (arg.is_register()) return arg.type();
  for (const Arg& arg : args)
    if (arg.type().bits != 0) return arg.type();
  refuse("no-operand-type", "all operands are integer literals, which have no type",
         "compute the result in C++, or mov one of them into a register");
}

void BuilderCore::Operation::require_own(std::string_view operand, std::uint32_t of) const {
  if (of == builder) return;
  refuse("foreign-operand",
         "operand " + std::string(operand) +
             (of == 0 ? " does not come from a builder" : " belongs to another kernel or function"),
         "registers, labels and arrays belong to the kernel or function that they are made in: pass values "
         "through parameters or memory");
}

void BuilderCore::Operation::require_predicate(const Reg& predicate) const {
  require_own("predicate", predicate.builder);
  if (predicate.type == pred) return;
  refuse("operand-type", "operand predicate is a " + dotted(predicate.type) + " register",
         "make a predicate of it: ne(x, 0)");
}

void BuilderCore::Operation::require(Type type, std::initializer_list<Operand> operands, Signs signs) const {
  for (const Operand& operand : operands) {
    switch (operand.arg.operand().kind) {
      case Kind::reg:
        require_register(type, operand, signs);
        break;
      case Kind::integer:
        require_integer(type, operand, signs);
        break;
      case Kind::f32:
      case Kind::f64:
        require_decimal(type, operand);
        break;
      default:
        break;  // an address or a vector: the specs decide
    }
  }
}

void BuilderCore::Operation::require_register(Type type, const Operand& operand, Signs signs) const {
  require_own(operand.name, operand.arg.builder());
  const Type given = operand.arg.type();
  if (given == type) return;
  const bool predicate = given.kind == TypeKind::predicate || type.kind == TypeKind::predicate;
  if (given.bits == type.bits && !predicate) {
    if (is_untyped(given) || is_untyped(type)) return;
    const bool integers = given.is_integer() && type.is_integer() && given.lanes == type.lanes;
    if (integers && signs == Signs::alike) return;
  }
  std::string hint = "convert(" + std::string(type.name) + ", x) converts it";
  if (given.bits == type.bits && !predicate)
    hint += "; bit_cast(" + std::string(type.name) + ", x) keeps its bits";
  refuse("operand-type",
         "operand " + std::string(operand.name) + " is a " + dotted(given) +
             " register, but the operation is on " + dotted(type),
         hint);
}

void BuilderCore::Operation::require_integer(Type type, const Operand& operand, Signs signs) const {
  const Arg& literal = operand.arg;
  if (type.is_float()) {
    // The specs know which float types have literals. For the others only 0 is accepted, because any other
    // literal would be raw bits.
    if (type == f32 || type == f64 || literal.operand().value == 0) return;
    refuse("operand-literal",
           "operand " + std::string(operand.name) + " is the integer " + text_of(literal) +
               ", but the operation is on " + dotted(type) + ", which has no literals",
           "convert a register, or write the bits of the value: " + bits_call(type));
  }
  if (fits(literal, type, signs == Signs::alike)) return;
  refuse("operand-range",
         "operand " + std::string(operand.name) + " is " + text_of(literal) + ", which does not fit " +
             dotted(type),
         "use a wider type, or a value in the range of this one");
}

void BuilderCore::Operation::require_decimal(Type type, const Operand& operand) const {
  const bool same_bits = type.bits == (operand.arg.operand().kind == Kind::f32 ? 32 : 64);
  if (type == f32 || type == f64 || (is_untyped(type) && same_bits)) return;
  refuse("operand-literal",
         "operand " + std::string(operand.name) + " is a floating-point literal, but the operation is on " +
             dotted(type),
         type.is_float()
             ? "only f32 and f64 have literals: convert(" + std::string(type.name) + ", mov(f32, x))"
             : "write an integer, or convert a register");
}

}  // namespace ptxloom
