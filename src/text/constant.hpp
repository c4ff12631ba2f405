// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "text/token_stream.hpp"

// Constant expressions (PTX ISA, "Constants"): integers are 64 bits wide, signed unless written with U or too
// large for it; floats are double, but for one written by its 32 bits. A float written by its bits stands
// alone.
namespace ptxloom::text {

struct Constant {
  enum class Kind : std::uint8_t { integer, f32, f64 };
  Kind kind = Kind::integer;
  bool is_unsigned = false;
  std::int64_t bits = 0;  ///< the integer, or the bits of the float

  static Constant of(double value);
  static Constant of(float value);
  bool is_float() const { return kind != Kind::integer; }
  double as_double() const;
};

/// Whether a constant expression can start with this token.
bool starts_constant(const Token& token);
/// Reads one; throws SyntaxError.
Constant read_constant(TokenStream& in);
/// The same, but an integer.
std::int64_t read_integer(TokenStream& in);
/// One integer literal: what declarations and directives take, no expressions.
std::int64_t read_count(TokenStream& in);
/// One integer literal of 32 bits, as directives take it.
std::uint32_t read_u32(TokenStream& in);

}  // namespace ptxloom::text
