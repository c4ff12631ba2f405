// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "ptxloom/numeric.hpp"
#include "ptxloom/type.hpp"

// One element of D = A·B + C as tensor cores compute it, bit by bit. It is no chain of IEEE operations: the
// products are exact; they and the addend, zeros aside, are aligned to the largest exponent among them (of a
// product: the sum of its factors' exponents), each cut off toward zero a fixed number of bits below it; the
// sum of what is left is exact and rounded once, toward zero for f32 and to the nearest even for f16. How
// many bits are kept, and how many products are summed at once, differs by chip. Subnormals count in full;
// NaN is canonical. Block scales of mxf8f6f4 are powers of two that join the products' exponents. Elements of
// mxf4 and mxf4nvf4 are summed exactly by sixteens first; such a sum times the significands of its two
// scales is one term, aligned by the scales' exponents alone. The model is that of Xie et al., "MMA-Sim"
// (arXiv 2511.10909), and of Khattak and Mikaitis, "Accurate Models of NVIDIA Tensor Cores" (arXiv
// 2512.07004), who found what zeros and tiny terms do.
namespace ptxloom::base {

/// How a chip sums; the facts are in specs/targets.json.
struct MmaRule {
  int fraction_bits = 25;         ///< kept below the largest exponent, at most 35
  int chunk_k = 0;                ///< products summed at once, with a rounding after each chunk; 0: all
  int result_mantissa_bits = 23;  ///< that an f32 result keeps: 13 for fp8 on some chips
  /// The sums begin at zero; the addend is added afterwards, as an instruction of its own would.
  bool addend_last = false;
};

/// A finite element is significand * 2^(exponent - 10). Zeros, infinities and NaN have exponents of their
/// own.
struct MmaElement {
  std::int16_t significand = 0;
  std::int16_t exponent = 0;
};

/// Elements of type f16, bf16, tf32, e4m3, e5m2, e3m2, e2m3 or e2m1 ready for dot_f32 and dot_f16; to be done
/// once for each row of A and column of B; both spans have one size. Throws Error(usage, "mma-type") for
/// other types.
void unpack_mma(Type type, std::span<const std::uint32_t> bits, std::span<MmaElement> elements);

/// The bits of c + sum(a[k] * b[k]), with c and the result in f32 or f16.
std::uint32_t dot_f32(std::span<const MmaElement> a, std::span<const MmaElement> b, std::uint32_t c,
                      MmaRule rule);
std::uint32_t dot_f16(std::span<const MmaElement> a, std::span<const MmaElement> b, std::uint32_t c,
                      MmaRule rule);

/// A scale factor, ue8m0 or ue4m3, as an element. Throws Error(usage, "mma-type") for other types.
MmaElement unpack_mma_scale(Type type, std::uint32_t bits);
/// Multiplies the elements of a block by a power of two (ue8m0, unpacked) or by NaN.
void scale_mma(MmaElement power, std::span<MmaElement> block);
/// The bits of c + sum(a[k] * b[k] * scale of its block), all of f32, for elements of e2m1: the sum of each
/// sixteen is one term. Row and column are cut into as many equal blocks as they have scales.
std::uint32_t dot_scaled_f32(std::span<const MmaElement> a, std::span<const MmaElement> b,
                             std::span<const MmaElement> scales_a, std::span<const MmaElement> scales_b,
                             std::uint32_t c, MmaRule rule);

/// A chain of fma, k ascending.
std::uint64_t dot_f64(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b, std::uint64_t c,
                      Rounding rounding = Rounding::rn);

/// Integer elements (s8, u8, s4, u4, b1), extended to 32 bits.
void unpack_mma(Type type, std::span<const std::uint32_t> bits, std::span<std::int32_t> elements);
/// c + sum(a[k] * b[k]), wrapped to 32 bits or clamped to the range of s32.
std::uint32_t dot_s32(std::span<const std::int32_t> a, std::span<const std::int32_t> b, std::uint32_t c,
                      bool satfinite);

}  // namespace ptxloom::base
