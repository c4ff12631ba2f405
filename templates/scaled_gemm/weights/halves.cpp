// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/weights/halves.hpp"

namespace ptxloom::scaled_gemm {
namespace {

/// By the packed instruction, or else by one on each half, which is compared where it lies.
Reg chosen(KernelBuilder& k, const char* packed, Reg a, Reg b, const auto& choose) {
  const Reg result = k.reg(b32);
  if (k.has(packed)) {
    k.emit(packed, result, a, b);
    return result;
  }
  const auto half = [&](std::int64_t mask) {
    return choose(KernelBuilder::as(u32, k.and_(a, mask)), KernelBuilder::as(u32, k.and_(b, mask)));
  };
  k.emit("or.b32", result, half(0xffff), half(0xffff'0000));
  return result;
}

}  // namespace

Reg larger_halves(KernelBuilder& k, Reg a, Reg b) {
  return chosen(k, "max.u16x2", a, b, [&](Reg x, Reg y) { return k.max(x, y); });
}

Reg smaller_halves(KernelBuilder& k, Reg a, Reg b) {
  return chosen(k, "min.u16x2", a, b, [&](Reg x, Reg y) { return k.min(x, y); });
}

}  // namespace ptxloom::scaled_gemm
