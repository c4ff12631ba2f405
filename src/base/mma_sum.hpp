// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ptxloom/numeric.hpp"
#include "ptxloom/type.hpp"

// A row of D = A·B + C as tensor cores compute it, bit by bit. It is not a chain of IEEE operations: the
// products are exact; they and the addend, except zeros, are aligned to the largest exponent among them (for
// a product: the sum of its factors' exponents), or to a minimum exponent of the chip if all lie below it,
// and each is truncated towards zero a fixed number of bits below that; the sum of what remains is exact and
// rounded once, towards zero for f32 and to nearest even for f16. How many bits are kept, and how many
// products are summed at once, depends on the chip. Subnormals count in full; NaN is canonical. Block scales
// of mxf8f6f4 are powers of two that add to the products' exponents. Elements of mxf4 and mxf4nvf4 are first
// summed exactly in groups of sixteen; such a sum times the significands of its two scales is one term,
// aligned by the scales' exponents alone. The model is that of Xie et al., "MMA-Sim" (arXiv 2511.10909), and
// of Khattak and Mikaitis, "Accurate Models of NVIDIA Tensor Cores" (arXiv 2512.07004), who found the
// behaviour of zeros and tiny terms.
//
// It is computed for many columns at a time, and every step is exact. In general in double: products have 22
// bits, and the sums are of integers with fewer than 53. Where all elements are ordinary numbers (see
// `narrow`), products are in single precision and sums in 32-bit integers. Infinities and NaN propagate by
// themselves. The floating-point environment is the default one: subnormals are not flushed.
namespace ptxloom::base {

/// How a chip sums; the values are in specs/targets.json.
struct MmaRule {
  int fraction_bits = 25;         ///< kept below the largest exponent, at most 35
  int chunk_k = 0;                ///< products summed at once, with a rounding after each chunk; 0: all
  int result_mantissa_bits = 23;  ///< kept in an f32 result: 13 for fp8 on some chips
  /// No term is aligned below this exponent, however small all terms are; by the accumulator's type.
  int least_f32 = kNoLeast, least_f16 = kNoLeast;
  static constexpr int kNoLeast = -0x200;  ///< less than the exponent of any product
  /// The sums start at zero; the addend is added afterwards, as a separate instruction would.
  bool addend_last = false;
};

/// Elements ready to be summed: their values, and the exponents by which they are aligned. Zeros, infinities
/// and NaN have an exponent below all others.
struct MmaElements {
  std::vector<double> values;
  std::vector<std::int32_t> exponents;
  std::vector<float> singles;  ///< the values once more, or nothing: see narrow

  explicit MmaElements(std::size_t size = 0) : values(size), exponents(size) {}
};

/// Elements of type f16, bf16, tf32, e4m3, e5m2, e3m2, e2m3 or e2m1. Throws Error(usage, "mma-type") for
/// other types.
MmaElements unpack_mma(Type type, std::span<const std::uint32_t> bits);
/// The same for e4m3 or e5m2, aligned as the equal f16 numbers.
MmaElements unpack_mma_as_f16(Type type, std::span<const std::uint32_t> bits);
/// Scale factors, ue8m0 or ue4m3. Throws Error(usage, "mma-type") for other types.
MmaElements unpack_mma_scales(Type type, std::span<const std::uint32_t> bits);
/// Multiplies element number `i` by scale number `j`, a power of two or NaN.
void scale_mma(MmaElements& elements, std::size_t i, const MmaElements& scales, std::size_t j);

/// Lets the products of elements of A and B be summed in 32 bits, in half the time, if none of them is
/// infinite, NaN, or far from 1. B may then be multiplied by this A only. Not for elements that are sums.
void narrow(const MmaElements& a, MmaElements& b);

/// An element of a row of A, and the row of B whose elements it is multiplied by.
struct MmaFactor {
  double value = 0;
  std::int32_t exponent = 0;
  std::uint32_t row = 0;
};

/// Adds the products of a row of A with each column of B to `sums`, the bits of a row of C in f32 or f16. B
/// is row-major, with rows as long as `sums`.
void dot_f32(std::span<const MmaFactor> row, const MmaElements& b, std::span<std::uint32_t> sums,
             MmaRule rule);
void dot_f16(std::span<const MmaFactor> row, const MmaElements& b, std::span<std::uint32_t> sums,
             MmaRule rule);

/// The sums of each sixteen products of a row of A (of mxf4, unscaled) with each column of B, times the
/// scales of B: a matrix whose rows must still be multiplied by the scales of A. Scales of B are row-major
/// too.
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
/// Adds the products (for bits with `exclusive`: the exclusive ors) of a row of A with each column of B to
/// `sums`, which wrap at 32 bits or are clamped to the range of s32.
struct MmaIntegerRule {
  bool satfinite = false, exclusive = false;
};
void dot_s32(std::span<const MmaIntegerFactor> row, std::span<const std::int32_t> b,
             std::span<std::uint32_t> sums, MmaIntegerRule rule);

}  // namespace ptxloom::base
