// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptxloom/activation.hpp"
#include "ptxloom/kit/matrix.hpp"
#include "ptxloom/kit/product_groups.hpp"
#include "ptxloom/kit/weight_layout.hpp"
#include "ptxloom/plan.hpp"
#include "ptxloom/space.hpp"
#include "scaled_gemm/problem/formats.hpp"

// The problem as typed data.
namespace ptxloom::scaled_gemm {

/// A or B: `extent` (m or n) stored rows of k elements, and as many rows of scales.
struct Operand {
  Format format;
  std::uint32_t extent = 0, k = 0, ld = 0;
  bool batched = false;   ///< one matrix for each batch
  bool shuffled = false;  ///< elements and scales are in the kit's weight layout
  bool widened = false;  ///< elements below 8 bits become bytes in fragments: the other operand has more bits
  Type beside = bf16;    ///< elements of the other operand, which the weight layout depends on

  bool scaled() const { return format.block != 0; }
  bool integers() const { return format.element == s4 || format.element == u4; }
  /// Weights of 8 bits: they are widened to f32, scaled, and rounded to the type of A.
  bool bytes() const { return shuffled && format.element.bits == 8; }
  /// Words of the weight layout of a thread in `elements` of k.
  int words_in(int elements) const { return elements * format.element.bits / 64; }
  /// Unsigned integers have zero points, one where there is a scale.
  bool zero_points() const { return format.element == u4; }
  kit::WeightLayout weights() const { return {format.element, extent, k, beside}; }
  /// Whether an f32 for each group is multiplied before the product is rounded to the type of A.
  bool wide_scales() const { return shuffled && format.scale == f32; }
  /// Groups that begin within `elements` of k, at least one.
  int groups_in(int elements) const { return std::max(1, elements / static_cast<int>(format.block)); }
  /// Scales of a row; the last one may be for fewer elements than the others.
  std::uint32_t scales() const { return (k + format.block - 1) / format.block; }
  /// Bits of an element in shared memory.
  int tile_bits() const { return widened ? 8 : format.element.bits; }
  /// Elements of one number of matrix(), which has bytes for elements below 8 bits: two elements of 4 bits in
  /// one, and 16 elements of 6 bits in 16, the last four of which are padding.
  std::uint32_t packed() const { return format.element.bits == 4 ? 2 : 1; }
  kit::MatrixOperand matrix() const {
    return {.type = format.element.bits < 8 ? u8 : format.element,
            .rows = extent,
            .cols = k / packed(),
            .ld = ld / packed(),
            .stride = batched ? std::uint64_t{extent} * ld / packed() : 0};
  }
};

/// Products whose sizes are in device memory: the first rows of each batch, or runs of kGroupRows rows of one
/// matrix.
using Groups = kit::TileGroups::Kind;
/// Scales in f32 of floats of 8 bits and less: one for each row of A and column of B, one for each tensor, or
/// none.
enum class WholeScales { none, tensor, row };
inline constexpr int kGroupRows = 128;  ///< rows of a contiguous group are multiples of it
inline constexpr int kGateColumns = 8;  ///< adjacent columns of gates, and of values

struct Problem {
  std::uint32_t m = 0, n = 0, k = 0;
  std::uint32_t batch = 1;  ///< matrices B, and A and D if they are separate()
  Groups groups = Groups::none;
  bool row_weights = false;  ///< rows of D are multiplied by a number each
  bool swiglu = false;       ///< columns of the product are gates and values, in turns of kGateColumns
  Operand a, b;
  Type d;
  std::uint32_t ldd = 0;
  std::optional<Type> bias;  ///< of a number for each column of the product
  std::optional<Type> c;     ///< of a matrix that is added to the result; none if beta is 0
  std::uint32_t ldc = 0;
  double alpha = 1, beta = 1;  ///< factors of the product and of C
  Activation activation = Activation::none;
  bool c_last = true;  ///< C is added after the activation
  WholeScales whole_scales = WholeScales::none;
  /// Whether the tensor cores alone accumulate products. Always true where nothing can be promoted.
  bool plain_sums = false;

  explicit Problem(const Settings& words);
  std::uint32_t columns() const { return swiglu ? n / 2 : n; }  ///< of D
  kit::ProductGroups products() const {
    return {.kind = groups, .rows = m, .batches = batch, .run = kGroupRows};
  }
  /// Whether each batch has an A and a D of its own.
  bool separate() const { return batch > 1 && groups != Groups::contiguous; }
  std::uint64_t all_rows() const { return separate() ? std::uint64_t{batch} * m : m; }  ///< of A and D
  /// Whether A has no scales but one for each row, which the epilogue applies: 8 bits beside 4-bit
  /// weights.
  bool row_scales() const { return b.shuffled && a.format.element.bits == 8; }
  /// Whether the products of a run of k are promoted: added to sums in f32.
  bool promotes() const { return row_scales() && !plain_sums; }
  /// Whether each row of A has a scale, and whether each column of B has one, which the epilogue applies.
  ///@{
  bool scaled_rows() const { return row_scales() || scaled_columns(); }
  bool scaled_columns() const { return whole_scales == WholeScales::row; }
  ///@}
  /// Whether weights of less than 8 bits are multiplied by their scale in f32, and rounded to the type of A:
  /// beside f16 also e3m2, since its small values have scales that f16 lacks and are not 0 in f16.
  bool scales_in_f32() const {
    return b.wide_scales() || (b.format.element == e3m2 && a.format.element == f16);
  }
  /// Floats of 4 and 6 bits beside bf16 and f16 are divided by 2^held_back(), so that none is too large with
  /// the largest scales. Accumulators are multiplied by weight_factor() for it.
  ///@{
  int held_back() const;
  float weight_factor() const { return std::ldexp(1.0F, held_back()); }
  ///@}
  /// The type whose arithmetic the tensor cores do: widened elements count as fp8.
  Type multiplied() const { return a.widened ? e4m3 : a.format.element; }
};

/// All parameters, checked.
Settings complete_problem(const ParameterSpace& space, const Settings& given);
/// A zero point is the low bits of a byte.
inline constexpr std::uint32_t kZeroPointMask = 0x7f;

/// a, b, scale_a if A or its rows have scales, scale_b, zero_b if B has zero points, tensor_scale_a and
/// tensor_scale_b if the formats have them, the vector of groups, row_weights, bias and c, as far as there
/// are any, and d, in this order.
std::vector<TensorPlan> tensors_of(const Problem& problem);
/// The rate in specs/targets.json that bounds the products.
std::string unit_of(const Problem& problem);
/// Bytes that are read and written at least, if all rows are computed.
///@{
double input_bytes(const Problem& problem);
double output_bytes(const Problem& problem);
///@}

/// Parts of `size` elements that cover `extent`.
inline std::uint64_t parts_of(std::uint64_t extent, int size) {
  return (extent + static_cast<std::uint64_t>(size) - 1) / static_cast<std::uint64_t>(size);
}

}  // namespace ptxloom::scaled_gemm
