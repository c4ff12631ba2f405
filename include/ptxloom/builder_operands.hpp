// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <source_location>
#include <span>
#include <string_view>
#include <vector>

#include "ptxloom/ir.hpp"

/// \file
/// The operands of a KernelBuilder's instructions. A Reg is a virtual register with the PTX type that it is
/// used as. Pointer, Shared and Global are arrays: `x[i]` is an element, for `load` and `store`, and `&x[i]`
/// is its Address, for instructions that take one. Nothing is emitted until an instruction uses it. An
/// operand belongs to the kernel, or the module, that it was made in; others refuse it (Error(usage,
/// "foreign-operand")).
namespace [[gnu::visibility("default")]] ptxloom {

/// The caller's file and line.
using Caller = std::source_location;

/// A virtual register.
struct Reg {
  Type type;                  ///< what it is used as
  ir::Register id;            ///< in the function's registers
  std::uint32_t builder = 0;  ///< the number of the kernel or function that it belongs to; 0: none
};

/// A label of a kernel or function.
struct Label {
  std::uint32_t index = 0;    ///< into ir::Function::labels
  std::uint32_t builder = 0;  ///< as in Reg
};

/// An address `[base + offset]`; the base is a register or an array. If it is that of an element whose index
/// is in a register, the instruction that takes the address computes it first.
struct Address {
  ir::Operand operand;        ///< base and offset
  std::uint32_t builder = 0;  ///< as in Reg
  /// The index of an element, to be scaled and added.
  struct Index {
    ir::Operand operand;        ///< a register or an integer; a sink if there is no index
    Type type;                  ///< of the index
    std::uint32_t builder = 0;  ///< as in Reg
    Type element;               ///< the type of the elements that it counts
  };
  Index index = {};             ///< none if the address is complete
  std::string_view space = {};  ///< state space of the array that it lies in; empty: unknown

  /// The address that many bytes further on.
  Address operator+(std::int64_t bytes) const;
  /// Whether the index of an element must still be added.
  bool is_indexed() const { return index.operand.kind != ir::Operand::Kind::sink; }
};

/// An element of an array.
struct Element {
  Address address;         ///< where it lies
  Type type;               ///< its type
  std::string_view space;  ///< its state space as instructions name it: "global"
  /// The address, as an operand of instructions.
  Address operator&() const { return address; }
};

/// An array in the kernel's static or dynamic shared memory. As an operand it is its address.
struct Shared {
  std::uint32_t symbol = 0;   ///< index into ir::Function::symbols
  Type type;                  ///< of an element
  std::uint32_t builder = 0;  ///< as in Reg
  std::int64_t offset = 0;    ///< bytes from the symbol to the first element

  /// An element. The index counts elements.
  ///@{
  Element operator[](Reg index) const;
  Element operator[](std::int64_t index) const;
  ///@}
  /// The memory from `bytes` on, as an array of another type.
  Shared as(Type element, std::int64_t bytes = 0) const { return {symbol, element, builder, offset + bytes}; }
};

/// An array in `.const` or `.global` memory of the module. As an operand it is its address.
struct Global {
  std::uint32_t variable = 0;  ///< index into ir::Module::variables
  Type type;                   ///< of an element
  std::string_view space;      ///< "const" or "global"
  std::uint32_t builder = 0;   ///< as in Reg

  /// An element. The index counts elements.
  ///@{
  Element operator[](Reg index) const;
  Element operator[](std::int64_t index) const;
  ///@}
};

/// A pointer to global memory with its element type.
struct Pointer {
  Reg base;                          ///< the address, a u64
  Type element;                      ///< the type of an element
  using Element = ptxloom::Element;  ///< what `operator[]` returns

  /// An element. The index counts elements.
  ///@{
  Element operator[](Reg index) const;
  Element operator[](std::int64_t index) const;
  ///@}
};

/// A function of the module that a kernel can call.
struct Callee {
  std::uint32_t function = 0;    ///< index into ir::Module::functions
  std::vector<Type> results;     ///< types of its results
  std::vector<Type> parameters;  ///< types of its parameters
  std::uint32_t builder = 0;     ///< the number of the module
};

/// The operand `_`: a result that nobody needs, or an element of a vector that is left out.
struct Sink {};
/// The operand `_`.
inline constexpr Sink _{};

struct Vector;

/// Any operand: a register, a literal, an address, a vector of registers, a label, `_`. It refers to the
/// vector or address that it is made of, so it must be used in the expression that it is written in.
class Arg {
 public:
  /// Implicit, so that operands are written as they are.
  ///@{
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
        space_(address.space),
        builder_(address.builder) {}
  Arg(Label label);
  Arg(Shared array);
  Arg(Global array);
  Arg(Sink) {}
  Arg(const std::vector<Reg>& elements) : Arg(std::span<const Reg>(elements)) {}
  Arg(std::span<const Reg> elements)
      : operand_{.kind = ir::Operand::Kind::vector, .count = count_of(elements.size())},
        registers_(elements.data()) {}
  Arg(const Vector& vector);
  ///@}
  /// `_`
  static Arg sink() { return _; }
  /// An operand that is fixed by the variant's text, such as a special register.
  static Arg literal();
  /// Zero as a literal of this type: 0 or 0.0.
  static Arg zero(Type type);
  /// `!p`
  static Arg negated(Reg predicate);

  /// The operand in the IR; that of a vector has no index yet.
  const ir::Operand& operand() const { return operand_; }
  /// Whether it is a vector, with or without braces in the source.
  bool is_vector() const { return operand_.kind == ir::Operand::Kind::vector; }
  /// Number of elements of a vector.
  std::uint16_t count() const { return operand_.count; }
  /// The elements of a vector that was made of registers only; else empty.
  std::span<const Reg> registers() const { return {registers_, registers_ != nullptr ? operand_.count : 0U}; }
  /// Element `i` of a vector.
  Arg element(std::size_t i) const { return registers_ != nullptr ? Arg(registers_[i]) : elements_[i]; }
  /// The address, if the index of an element must still be added to it; else null.
  const Address* address() const { return address_; }
  /// The state space that an address is known to be in; else empty.
  std::string_view space() const { return space_; }
  /// The type that an opcode is chosen by: of a register, or of a float literal. 0 bits: it has none.
  Type type() const { return type_; }
  /// Whether it is a register.
  bool is_register() const { return operand_.kind == ir::Operand::Kind::reg; }
  /// Whether it is an integer literal below 0. (The operand of one above 2^63 holds a negative value too.)
  bool is_negative() const { return negative_; }
  /// The number of the kernel, function or module that the operand belongs to; 0: none.
  std::uint32_t builder() const { return builder_; }

 private:
  /// More elements than any instruction takes are refused as that, not counted modulo 65,536.
  static std::uint16_t count_of(std::size_t elements) {
    return static_cast<std::uint16_t>(std::min<std::size_t>(elements, 0xffff));
  }

  Arg(std::int64_t value, bool negative)
      : operand_{.kind = ir::Operand::Kind::integer, .value = value}, negative_(negative) {}
  ir::Operand operand_;
  const Reg* registers_ = nullptr;  // the elements of a vector: these
  const Arg* elements_ = nullptr;   // or these
  const Address* address_ = nullptr;
  std::string_view space_;
  Type type_;
  std::uint32_t builder_ = 0;
  bool negative_ = false;
};

/// A vector of registers, literals and `_`: `Vector{x, 0, _}`.
struct Vector {
  std::vector<Arg> elements;  ///< the first in the lowest bits, or at the lowest address
  /// All elements in order.
  Vector(std::initializer_list<Arg> all) : elements(all) {}
};

/// The instruction that `emit` appends: an opcode, or a Variant, with the caller's line. It refers to the
/// text or the variant that it is made of, so it must be used in the expression that it is written in.
class Opcode {
 public:
  /// Implicit, so that `emit` takes a text or a variant.
  ///@{
  Opcode(const std::convertible_to<std::string_view> auto& text, Caller at = Caller::current())
      : text_(text), at_(at) {}
  Opcode(const Variant& variant, Caller at = Caller::current()) : variant_(&variant), at_(at) {}

  ///@}

  /// The opcode's text; empty where a variant is given.
  std::string_view text() const { return text_; }
  /// Null where a text is given.
  const Variant* variant() const { return variant_; }
  /// The caller's line.
  Caller at() const { return at_; }

 private:
  std::string_view text_;
  const Variant* variant_ = nullptr;
  Caller at_;
};

}  // namespace ptxloom
