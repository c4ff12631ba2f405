// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ptxloom/numeric.hpp"
#include "ptxloom/type.hpp"

// A row of D = A·B + C as tensor cores compute it, bit by bit. It is no chain of IEEE operations: the
// products are exact; they and the addend, zeros aside, are aligned to the largest exponent among them (of a
// product: the sum of its factors' exponents), or to a least one of the chip where all lie below it, each cut
// off toward zero a fixed number of bits below it; the sum of what is left is exact and rounded once, toward
// zero for f32 and to the nearest even for f16. How many bits are kept, and how many products are summed at
// once, differs by chip. Subnormals count in full; NaN is canonical. Block scales of mxf8f6f4 are powers of
// two that join the products' exponents. Elements of mxf4 and mxf4nvf4 are summed exactly by sixteens first;
// such a sum times the significands of its two scales is one term, aligned by the scales' exponents alone.
// The model is that of Xie et al., "MMA-Sim" (arXiv 2511.10909), and of Khattak and Mikaitis, "Accurate
// Models of NVIDIA Tensor Cores" (arXiv 2512.07004), who found what zeros and tiny terms do.
//
// All this is done in double, for many columns at a time, where every step is exact and no number subnormal:
// products have 22 bits, and what is summed are whole numbers of fewer than 53. Infinities and NaN take their
// course by themselves.
namespace ptxloom::base {

/// How a chip sums; the facts are in specs/targets.json.
struct MmaRule {
  int fraction_bits = 25;         ///< kept below the largest exponent, at most 35
  int chunk_k = 0;                ///< products summed at once, with a rounding after each chunk; 0: all
  int result_mantissa_bits = 23;  ///< that an f32 result keeps: 13 for fp8 on some chips
  /// No term is aligned below this exponent, however small all of them are; by the accumulator's type.
  int least_f32 = kNoLeast, least_f16 = kNoLeast;
  static constexpr int kNoLeast = -0x200;  ///< less than the exponent of any product
  /// The sums begin at zero; the addend is added afterwards, as an instruction of its own would.
  bool addend_last = false;
};

/// Elements ready to be summed: what they are worth, and the exponents that they are aligned by. Zeros,
/// infinities and NaN have one below all others.
struct MmaElements {
  std::vector<double> values;
  std::vector<std::int32_t> exponents;

  explicit MmaElements(std::size_t size = 0) : values(size), exponents(size) {}
};

/// Elements of type f16, bf16, tf32, e4m3, e5m2, e3m2, e2m3 or e2m1. Throws Error(usage, "mma-type") for
/// other types.
MmaElements unpack_mma(Type type, std::span<const std::uint32_t> bits);
/// The same of e4m3 or e5m2, aligned as the numbers of f16 that they are.
MmaElements unpack_mma_as_f16(Type type, std::span<const std::uint32_t> bits);
/// Scale factors, ue8m0 or ue4m3. Throws Error(usage, "mma-type") for other types.
MmaElements unpack_mma_scales(Type type, std::span<const std::uint32_t> bits);
/// Multiplies element number `i` by scale number `j`, a power of two or NaN.
void scale_mma(MmaElements& elements, std::size_t i, const MmaElements& scales, std::size_t j);

/// An element of a row of A, and the row of B whose elements it is multiplied by.
struct MmaFactor {
  double value = 0;
  std::int32_t exponent = 0;
  std::uint32_t row = 0;
};

/// Adds the products of a row of A with each column of B to `sums`, the bits of a row of C in f32 or f16. B
/// lies row by row; a row is as long as `sums`.
void dot_f32(std::span<const MmaFactor> row, const MmaElements& b, std::span<std::uint32_t> sums,
             MmaRule rule);
void dot_f16(std::span<const MmaFactor> row, const MmaElements& b, std::span<std::uint32_t> sums,
             MmaRule rule);

/// The sums of each sixteen products of a row of A (of mxf4, unscaled) with each column of B, times the
/// scales of B: a matrix whose rows the scales of A are to be multiplied by. Scales of B lie row by row too.
inline constexpr std::size_t kMmaGroup = 16;
MmaElements sum_groups(std::span<const MmaFactor> row, const MmaElements& b, const MmaElements& scales,
                       std::size_t columns);

/// A chain of fma, k ascending.
std::uint64_t dot_f64(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b, std::uint64_t c,
                      Rounding rounding = Rounding::rn);

/// Integer elements (s8, u8, s4, u4, b1), extended to 32 bits.
void unpack_mma(Type type, std::span<const std::uint32_t> bits, std::span<std::int32_t> elements);

struct MmaIntegerFactor {
  std::int32_t value = 0;
  std::uint32_t row = 0;
};
/// Adds the products (of bits with `exclusive`: the exclusive ors) of a row of A with each column of B to
/// `sums`, which wrap at 32 bits or are clamped to the range of s32.
struct MmaIntegerRule {
  bool satfinite = false, exclusive = false;
};
void dot_s32(std::span<const MmaIntegerFactor> row, std::span<const std::int32_t> b,
             std::span<std::uint32_t> sums, MmaIntegerRule rule);

}  // namespace ptxloom::base
