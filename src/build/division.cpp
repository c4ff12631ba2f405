// SPDX-License-Identifier: Apache-2.0
// Division of u32 by a literal without a division: ptxas divides by constants, even powers of two, as by any
// other value, with some 25 instructions including a reciprocal. Here it is a shift, or the high half of a
// product with a scaled reciprocal (Granlund and Montgomery, "Division by Invariant Integers using
// Multiplication").
#include <algorithm>
#include <bit>

#include "build/operation.hpp"

namespace ptxloom {
namespace {

std::optional<std::uint32_t> divisor_of(const Arg& a, const Arg& b) {
  const bool literal = b.operand().kind == ir::Operand::Kind::integer;
  if (!a.is_register() || a.type() != u32 || !literal) return std::nullopt;
  if (b.operand().value <= 0 || b.operand().value > 0xffff'ffff) return std::nullopt;
  return static_cast<std::uint32_t>(b.operand().value);
}

/// n / divisor = (n * factor) >> (32 + shift) for all n. With `long_factor` the factor has 33 bits, of which
/// the highest is omitted.
struct Reciprocal {
  std::uint32_t factor = 0;
  int shift = 0;
  bool long_factor = false;
};

Reciprocal reciprocal_of(std::uint32_t divisor) {
  const int width = std::bit_width(divisor - 1);
  for (int shift = 0; shift <= std::min(width, 31); ++shift) {
    const std::uint64_t power = std::uint64_t{1} << (32 + shift), factor = power / divisor + 1;
    if (factor > 0xffff'ffff) break;
    if (factor * divisor - power <= std::uint64_t{1} << shift)
      return {static_cast<std::uint32_t>(factor), shift, false};
  }
  const std::uint64_t above = (std::uint64_t{1} << width) - divisor;
  return {static_cast<std::uint32_t>((above << 32) / divisor + 1), width, true};
}

}  // namespace

void ArithmeticBuilder::require_divisor(const Operation& here, const Arg& b) {
  if (b.operand().kind == ir::Operand::Kind::integer && b.operand().value == 0)
    here.refuse("operand-range", "operand b is 0", "an integer cannot be divided by 0");
}

Reg ArithmeticBuilder::div(Arg a, Arg b, Caller at) {
  const Operation here = operation("div", at);
  require_divisor(here, b);
  const auto divisor = divisor_of(a, b);
  if (!divisor) return binary("div", here, a, b);
  if (std::has_single_bit(*divisor)) return shr(a, std::countr_zero(*divisor), at);
  const Reciprocal by = reciprocal_of(*divisor);
  const Reg high = reg(u32, at);
  emit({"mul.hi.u32", at}, {high, a, by.factor});
  if (!by.long_factor) return by.shift == 0 ? high : shr(high, by.shift, at);
  return shr(add(high, shr(sub(a, high, at), 1, at), at), by.shift - 1, at);
}

Reg ArithmeticBuilder::rem(Arg a, Arg b, Caller at) {
  const Operation here = operation("rem", at);
  require_divisor(here, b);
  const auto divisor = divisor_of(a, b);
  if (!divisor) return binary("rem", here, a, b);
  if (std::has_single_bit(*divisor)) return and_(a, *divisor - 1, at);
  return sub(a, mul(div(a, b, at), *divisor, at), at);
}

}  // namespace ptxloom
