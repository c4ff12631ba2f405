// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptxloom/builder.hpp"

// Registers whose halves hold a value each: an unsigned integer of 15 bits, or a float.
namespace ptxloom::scaled_gemm {

/// prmt: the two low bytes of a, each with a zero above it, which b has.
inline constexpr int kBytesToHalves = 0x4140;

/// lop3: (a & b) | c.
inline constexpr int kAndOr = (0xf0 & 0xcc) | 0xaa;

inline std::int64_t both_halves(std::uint32_t half) { return std::int64_t{half << 16 | half}; }
/// The larger, or the smaller, of each half.
///@{
Reg larger_halves(KernelBuilder& k, Reg a, Reg b);
Reg smaller_halves(KernelBuilder& k, Reg a, Reg b);
///@}
/// The word, shifted by as many bits: to the left, or to the right if negative.
Reg shifted(KernelBuilder& k, Reg word, int left);
/// The products of pairs of `type`, bf16 or f16, rounded to it.
///@{
Reg product_of_halves(KernelBuilder& k, Type type, Reg a, Reg b);
void multiply_halves(KernelBuilder& k, Type type, Reg into, Reg a, Reg b);
///@}

}  // namespace ptxloom::scaled_gemm
