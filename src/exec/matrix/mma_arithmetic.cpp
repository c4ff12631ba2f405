// SPDX-License-Identifier: Apache-2.0
#include "exec/matrix/mma_arithmetic.hpp"

#include "target/mma.hpp"

namespace ptxloom::exec {
namespace {

using target::ChipMma;

constexpr int kHalfBits = 128;  // of a row of 32 bytes, of which some chips sum halves

bool is_fp8(const Type& type) { return type == e4m3 || type == e5m2; }

// Whether mma.sync of 8-bit floats is executed as mma.sync of f16.
bool goes_through_f16(const ChipMma& chip, MmaUnit unit, const Type& a) {
  return unit == MmaUnit::mma && is_fp8(a) && chip.fp8_as_f16;
}

base::MmaRule rule_of(const TargetInfo& target, const ChipMma& chip, MmaUnit unit, const Type& a) {
  if (unit == MmaUnit::mma_fp4) return {.fraction_bits = chip.fp4_bits, .least_f32 = chip.fp4_least};
  const bool apart = is_fp8(a) && chip.fp8_bits != 0 && !goes_through_f16(chip, unit, a);
  if (apart) return {.fraction_bits = chip.fp8_bits, .result_mantissa_bits = chip.fp8_bits};
  return {
      .fraction_bits = target.mma_fraction_bits, .least_f32 = chip.least_f32, .least_f16 = chip.least_f16};
}

}  // namespace

MmaArithmetic mma_arithmetic(const TargetInfo& target, MmaUnit unit, const Type& a, int k) {
  const ChipMma& chip = target::mma_of(target.number);
  MmaArithmetic arithmetic{.rule = rule_of(target, chip, unit, a)};
  base::MmaRule& rule = arithmetic.rule;
  if (goes_through_f16(chip, unit, a)) {
    rule.chunk_k = k / 2;
    rule.addend_last = true;
    arithmetic.as_f16 = true;
    return arithmetic;
  }
  if (target.mma_halves) rule.chunk_k = kHalfBits / a.bits;
  if (unit == MmaUnit::wmma) {
    const int step = a == tf32 ? chip.wmma_tf32_k : chip.wmma_f16_k;
    if (step != 0) rule.chunk_k = step;
  }
  arithmetic.grouped = unit == MmaUnit::mma_fp4;
  arithmetic.scalar = unit == MmaUnit::m8n8k4 && chip.m8n8k4_scalar;
  return arithmetic;
}

}  // namespace ptxloom::exec
