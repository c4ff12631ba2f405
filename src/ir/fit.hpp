// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "ptxloom/ir.hpp"

// Checks whether an operand fits a place of an instruction. The rules are PTX's for registers against
// instruction types: `.bN` accepts any register of N bits, an integer type any integer or `.b` register, a
// float its own type or `.b`; a predicate only a predicate; loads, stores and conversions also accept wider
// registers. Literals: integers for integer types and predicates; 0f for f32, f64 and b32; 0d and decimals
// for f32, f64 and b64. The elements of a vector have one size, and do not mix integers and floats. An
// address is in a 64-bit register, or in a narrower one if the state space is small. The result is a reason
// code, so that choosing among variants allocates nothing; src/check turns it into a diagnostic.
namespace ptxloom::ir {

enum class Misfit : std::uint8_t {
  none,
  undocumented,    ///< it fits, but only according to ptxas
  kind,            ///< a literal where a register is required, an address where a value is ...
  type,            ///< a register of another type or size
  literal,         ///< a literal of a kind that the type does not accept
  range,           ///< an immediate outside its range
  sink,            ///< `_` where a value is needed
  negation,        ///< `!` or `-` on an operand that cannot be negated
  selector,        ///< a part of a register that the place does not accept
  length,          ///< a vector of another length, or a scalar
  untyped,         ///< a vector of only `_`, or of one literal
  mixed,           ///< a vector with elements of several sizes, or of integers and floats
  space,           ///< a variable of another state space
  address_type,    ///< a register that cannot hold an address
  address_offset,  ///< [variable-4], or [4] outside .local
  dangling,        ///< refers to a register, symbol, label or element that the kernel lacks
};

inline bool fits(Misfit why) { return why <= Misfit::undocumented; }

/// The first operand that does not fit; or, if all fit, whether the manual documents each. `element` is the
/// index in a vector, -1 for the whole.
struct Mismatch {
  Misfit why = Misfit::none;
  std::int16_t element = -1;
  std::uint32_t operand = 0;
  explicit operator bool() const { return !fits(why); }
};

/// Checks one operand.
Mismatch find_mismatch(const Kernel& kernel, const OperandSpec& place, const Operand& operand);

/// Checks all operands of an instruction, as many as the variant has.
Mismatch find_mismatch(const Kernel& kernel, std::span<const OperandSpec> places,
                       std::span<const Operand> operands);

/// Whether there are as many operands as places and all fit as documented.
bool operands_fit(const Kernel& kernel, std::span<const OperandSpec> places,
                  std::span<const Operand> operands);

/// Whether a "state space" is that of opaque variables: "texref", "samplerref", "surfref", "tensormap".
bool is_opaque(std::string_view space);

/// Whether an instruction of state space `wanted` can address a variable in `space` ("" = generic, "unified":
/// .global with that attribute).
bool space_fits(std::string_view wanted, Space space);

}  // namespace ptxloom::ir
