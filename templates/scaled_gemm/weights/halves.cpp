// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/weights/halves.hpp"

#include <string>

namespace ptxloom::scaled_gemm {
namespace {

/// By the instruction for integers, or else by that for floats: bits of floats up to infinity are in order.
Reg chosen(KernelBuilder& k, const std::string& which, Reg a, Reg b) {
  const Reg result = k.reg(b32);
  const std::string integers = which + ".u16x2";
  k.emit(k.has(integers) ? integers : which + ".f16x2", result, a, b);
  return result;
}

}  // namespace

Reg larger_halves(KernelBuilder& k, Reg a, Reg b) { return chosen(k, "max", a, b); }

Reg smaller_halves(KernelBuilder& k, Reg a, Reg b) { return chosen(k, "min", a, b); }

}  // namespace ptxloom::scaled_gemm
