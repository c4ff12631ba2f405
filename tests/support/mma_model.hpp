// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

// A second model of how tensor cores sum a row of products, in integers alone, independent of
// src/base/mma_sum. Its fields can be set wrong on purpose: tests show that their comparisons detect the
// difference.
namespace ptxloom::test {

/// A binary floating-point format with a sign.
struct FloatBits {
  int exponent_bits, mantissa_bits;
  bool infinities, nans;
  int padding = 0;  ///< ignored low bits

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  int least() const { return 1 - bias(); }
};

struct MmaModel {
  int window = 25;        ///< bits kept below the largest exponent
  int least = -1000;      ///< nothing is aligned below this exponent
  int result_bits = 23;   ///< of the mantissa of an f32 result
  std::size_t chunk = 0;  ///< products summed at once; 0: all
  bool through_f16 =
      false;  ///< fp8 as f16: two of each four, the other two, then a separate addition of the addend
  bool zeros_align = false;    ///< wrong: zeros take part in the alignment
  bool terms_nearest = false;  ///< wrong: terms are rounded to the window instead of truncated
};

/// One element of D: a row of A times a column of B, added to an element of C, all as bits. Aborts for a type
/// that tensor cores do not support.
class MmaModelRow {
 public:
  MmaModelRow(const MmaModel& model, std::string_view a, std::string_view b, std::string_view sum);

  std::uint32_t operator()(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b,
                           std::uint32_t c) const;

 private:
  MmaModel model_;
  FloatBits a_, b_, sum_;
  bool half_;
};

}  // namespace ptxloom::test
