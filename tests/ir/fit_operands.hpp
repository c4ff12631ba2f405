// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <vector>

#include "ir/fit.hpp"

// A kernel with a register of each type, and operands of it.
namespace ptxloom::ir::fit_test {

using Kind = Operand::Kind;
using Place = OperandSpec;

inline const std::vector<Type> kRegisters = {pred, b16, b32, b64, u16, s16,   u32,   s32,
                                             u64,  s64, f16, f32, f64, f16x2, bf16x2};

inline Kernel kernel() {
  Kernel result;
  for (const Type& type : kRegisters) result.registers.push_back({.type = type});
  return result;
}

inline Operand reg(const Type& type) {
  for (std::uint32_t i = 0; i < kRegisters.size(); ++i) {
    if (kRegisters[i] == type) return {.kind = Kind::reg, .index = i};
  }
  FAIL("no register of type " << type.name);
  return {};
}

inline Operand integer(std::int64_t value) { return {.kind = Kind::integer, .value = value}; }
inline Operand single(float value) {
  return {.kind = Kind::f32, .value = std::bit_cast<std::uint32_t>(value)};
}
inline Operand decimal(double value) {
  return {.kind = Kind::f64, .value = std::bit_cast<std::int64_t>(value)};
}
inline const Operand kSink{.kind = Kind::sink};
inline const Operand kDangling{.kind = Kind::reg, .index = 99};

inline Misfit misfit(const Place& place, const Operand& operand) {
  return find_mismatch(kernel(), place, operand).why;
}

}  // namespace ptxloom::ir::fit_test
