// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptxloom/builder.hpp"

// Two unsigned integers of 15 bits, each in a half of a register.
namespace ptxloom::scaled_gemm {

/// prmt: the two low bytes of a, each with a zero above it, which b has.
inline constexpr int kBytesToHalves = 0x4140;

inline std::int64_t both_halves(std::uint32_t half) { return std::int64_t{half << 16 | half}; }
/// The larger, or the smaller, of each half.
///@{
Reg larger_halves(KernelBuilder& k, Reg a, Reg b);
Reg smaller_halves(KernelBuilder& k, Reg a, Reg b);
///@}

}  // namespace ptxloom::scaled_gemm
