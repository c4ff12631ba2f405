// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/weights/halves.hpp"

#include <string>

namespace ptxloom::scaled_gemm {
namespace {

constexpr std::int64_t kMinusZeros = 0x8000'8000;

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

Reg shifted(KernelBuilder& k, Reg word, int left) {
  return left == 0 ? word : left > 0 ? k.shl(word, left) : k.shr(word, -left);
}

Reg product_of_halves(KernelBuilder& k, Type type, Reg a, Reg b) {
  const Reg product = k.reg(b32);
  multiply_halves(k, type, product, a, b);
  return product;
}

// bf16 has fma alone before sm_90. Minus zero changes no product.
void multiply_halves(KernelBuilder& k, Type type, Reg into, Reg a, Reg b) {
  const std::string pairs = std::string(type.name) + "x2";
  if (k.has("mul.rn." + pairs))
    k.emit("mul.rn." + pairs, into, a, b);
  else
    k.emit("fma.rn." + pairs, into, a, b, k.mov(b32, kMinusZeros));
}

}  // namespace ptxloom::scaled_gemm
