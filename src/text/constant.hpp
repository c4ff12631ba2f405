// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "text/token_stream.hpp"

// Constant expressions (PTX ISA, "Constants"): integers have 64 bits, signed unless written with U or too
// large for that; floats are double, except one written as 32 bits. A float written as bits cannot be part of
// an expression.
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
/// One integer literal: declarations and directives take no expressions.
std::int64_t read_count(TokenStream& in);
/// One 32-bit integer literal, as in directives.
std::uint32_t read_u32(TokenStream& in);

}  // namespace ptxloom::text
