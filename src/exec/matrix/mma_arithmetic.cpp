// SPDX-License-Identifier: Apache-2.0
#include "exec/matrix/mma_arithmetic.hpp"

#include "target/mma.hpp"

namespace ptxloom::exec {
namespace {

bool is_fp8(const Type& type) { return type == e4m3 || type == e5m2; }

// Whether mma.sync of 8-bit floats is executed as mma.sync of f16.
bool goes_through_f16(const TargetInfo& target, MmaUnit unit, const Type& a) {
  return unit == MmaUnit::mma && is_fp8(a) && target.number >= 90 && target.number < 120;
}

base::MmaRule rule_of(const TargetInfo& target, MmaUnit unit, const Type& a) {
  const target::ChipMma& chip = target::mma_of(target.number);
  if (unit == MmaUnit::mma_fp4) return {.fraction_bits = chip.fp4_bits, .least_f32 = chip.fp4_least};
  const bool apart = is_fp8(a) && chip.fp8_bits != 0 && !goes_through_f16(target, unit, a);
  if (apart) return {.fraction_bits = chip.fp8_bits, .result_mantissa_bits = chip.fp8_bits};
  return {
      .fraction_bits = target.mma_fraction_bits, .least_f32 = chip.least_f32, .least_f16 = chip.least_f16};
}

}  // namespace

MmaArithmetic mma_arithmetic(const TargetInfo& target, MmaUnit unit, const Type& a, int k) {
  MmaArithmetic arithmetic{.rule = rule_of(target, unit, a)};
  base::MmaRule& rule = arithmetic.rule;
  if (goes_through_f16(target, unit, a)) {
    rule.chunk_k = k / 2;
    rule.addend_last = true;
    arithmetic.as_f16 = true;
    return arithmetic;
  }
  // If the chip sums in halves, a half is 16 bytes of a row.
  if (target.mma_halves) rule.chunk_k = 128 / a.bits;
  if (unit == MmaUnit::wmma && a == tf32) rule.chunk_k = 4;
  if (unit == MmaUnit::wmma && target.number == 75) rule.chunk_k = 8;
  arithmetic.grouped = unit == MmaUnit::mma_fp4;
  arithmetic.scalar = unit == MmaUnit::m8n8k4 && target.number >= 80;
  return arithmetic;
}

}  // namespace ptxloom::exec
