// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <source_location>
#include <span>
#include <string_view>
#include <vector>

#include "ptxloom/ir.hpp"

// What stands in the instructions of a KernelBuilder. A Reg is a virtual register with the PTX type it is
// used as. Pointer, Shared and Global are arrays: `x[i]` is an element, for load and store, and `&x[i]` its
// Address, for instructions that take one. Nothing is emitted until an instruction uses it.
namespace [[gnu::visibility("default")]] ptxloom {

/// Who called: file and line.
using Caller = std::source_location;

/// A virtual register. Made by a KernelBuilder, and belongs to it.
struct Reg {
  Type type;
  ir::Register id;
  std::uint32_t builder = 0;  ///< the number of the KernelBuilder; 0 = none made it
};

struct Label {
  std::uint32_t index = 0;
  std::uint32_t builder = 0;
};

/// [base + offset], base a register or an array. Of an element with an index in a register, the instruction
/// that takes the address computes it first.
struct Address {
  ir::Operand operand;
  std::uint32_t builder = 0;
  struct Index {
    ir::Operand operand;  ///< a register or an integer; a sink = there is no index
    Type type;
    std::uint32_t builder = 0;
    Type element;  ///< what the index counts
  };
  Index index = {};

  Address operator+(std::int64_t bytes) const;
  bool is_indexed() const { return index.operand.kind != ir::Operand::Kind::sink; }
};

/// An element of an array: its type, and where it lies.
struct Element {
  Address address;
  Type type;
  std::string_view space;  ///< as instructions name it: "global"
  Address operator&() const { return address; }
};

/// A shared memory array of the kernel, or a dynamic one. As an operand: its address.
struct Shared {
  std::uint32_t symbol = 0;
  Type type;  ///< of an element
  std::uint32_t builder = 0;
  std::int64_t offset = 0;  ///< in bytes

  Element operator[](Reg index) const;
  Element operator[](std::int64_t index) const;
  /// The memory from `bytes` on as an array of another type.
  Shared as(Type element, std::int64_t bytes = 0) const { return {symbol, element, builder, offset + bytes}; }
};

/// An array in .const or .global memory of the module. As an operand: its address.
struct Global {
  std::uint32_t variable = 0;  ///< index into Module::variables
  Type type;                   ///< of an element
  std::string_view space;      ///< "const" or "global"
  std::uint32_t builder = 0;

  Element operator[](Reg index) const;
  Element operator[](std::int64_t index) const;
};

/// A pointer to global memory with its element type.
struct Pointer {
  Reg base;
  Type element;
  using Element = ptxloom::Element;

  Element operator[](Reg index) const;
  Element operator[](std::int64_t index) const;
};

/// A function that a KernelBuilder made, to be called.
struct Callee {
  std::uint32_t function = 0;  ///< index into Module::functions
  std::vector<Type> results, parameters;
  std::uint32_t builder = 0;
};

/// `_`: a result nobody wants, or an element of a vector that nothing fills.
struct Sink {};
inline constexpr Sink _{};

struct Vector;

/// What can stand as an operand: a register, a literal, an address, a vector of registers, a label, `_`. It
/// refers to the vectors and addresses that it is made of: use it in the call that it is written in.
class Arg {
 public:
  Arg(Reg reg)
      : operand_{.kind = ir::Operand::Kind::reg, .index = reg.id.id},
        type_(reg.type),
        builder_(reg.builder) {}
  Arg(std::integral auto value) : Arg(static_cast<std::int64_t>(value), value < 0) {}
  Arg(float value);
  Arg(double value);
  Arg(const Address& address)
      : operand_(address.operand),
        address_(address.is_indexed() ? &address : nullptr),
        builder_(address.builder) {}
  Arg(Label label);
  Arg(Shared array);
  Arg(Global array);
  Arg(Sink) {}
  Arg(const std::vector<Reg>& elements) : Arg(std::span<const Reg>(elements)) {}
  Arg(std::span<const Reg> elements)
      : operand_{.kind = ir::Operand::Kind::vector, .count = static_cast<std::uint16_t>(elements.size())},
        registers_(elements.data()) {}
  Arg(const Vector& vector);
  /// `_`
  static Arg sink() { return _; }
  /// What the variant's text itself says: a special register.
  static Arg literal();
  /// 0 as a literal of a type: 0 or 0.0.
  static Arg zero(Type type);
  /// `!p`
  static Arg negated(Reg predicate);

  const ir::Operand& operand() const { return operand_; }
  bool is_vector() const { return operand_.kind == ir::Operand::Kind::vector; }
  /// How many elements a vector has, and each of them.
  std::uint16_t count() const { return operand_.count; }
  /// The elements of a vector that has registers only; empty for any other operand.
  std::span<const Reg> registers() const { return {registers_, registers_ != nullptr ? operand_.count : 0U}; }
  Arg element(std::size_t i) const { return registers_ != nullptr ? Arg(registers_[i]) : elements_[i]; }
  /// Where the index of an element is still to be computed; else null.
  const Address* address() const { return address_; }
  /// The type to choose an opcode by; `pred` bits and vectors have none.
  Type type() const { return type_; }
  bool is_register() const { return operand_.kind == ir::Operand::Kind::reg; }
  /// An integer below 0. (Above 2^63 the operand holds one too.)
  bool is_negative() const { return negative_; }
  /// The number of the builder that made what the operand refers to; 0 = it refers to nothing.
  std::uint32_t builder() const { return builder_; }

 private:
  Arg(std::int64_t value, bool negative)
      : operand_{.kind = ir::Operand::Kind::integer, .value = value}, negative_(negative) {}
  ir::Operand operand_;
  const Reg* registers_ = nullptr;  // of a vector: these,
  const Arg* elements_ = nullptr;   // or these
  const Address* address_ = nullptr;
  Type type_;
  std::uint32_t builder_ = 0;
  bool negative_ = false;
};

/// A vector of registers, literals and `_`: `Vector{x, 0, _}`.
struct Vector {
  std::vector<Arg> elements;
  Vector(std::initializer_list<Arg> all) : elements(all) {}
};

/// What `emit` appends: an opcode, or the Variant that `select` chose; and the line that says so.
class Opcode {
 public:
  Opcode(const std::convertible_to<std::string_view> auto& text, Caller at = Caller::current())
      : text_(text), at_(at) {}
  Opcode(const Variant& variant, Caller at = Caller::current()) : variant_(&variant), at_(at) {}

  std::string_view text() const { return text_; }
  /// Null where a text is given.
  const Variant* variant() const { return variant_; }
  Caller at() const { return at_; }

 private:
  std::string_view text_;
  const Variant* variant_ = nullptr;
  Caller at_;
};

}  // namespace ptxloom
