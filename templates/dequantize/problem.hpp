// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "ptxloom/kit/narrow.hpp"
#include "ptxloom/kit/scale_tiles.hpp"
#include "ptxloom/kit/scaled_format.hpp"
#include "ptxloom/plan.hpp"
#include "ptxloom/space.hpp"

// The problem as typed data.
namespace ptxloom::dequantize_kernel {

/// Which elements share a scale.
enum class Scales { tensor, row, group, block };
inline constexpr std::uint32_t kBlock =
    128;  // rows and elements of a row that share a scale, with Scales::block

struct Problem {
  std::uint32_t rows = 0, n = 0;
  const kit::ScaledFormat* format = nullptr;
  Type y;
  Scales scales = Scales::row;
  std::uint32_t group = 0;  // elements of a row that share a scale; of a row or of all: n
  kit::NarrowPacking packing = kit::NarrowPacking::dense;
  bool tiled_scales = false;               // in tiles of 128 rows and 4 scales
  std::uint64_t pitch_x = 0, pitch_y = 0;  // in elements

  /// From the settings that complete_problem() returns.
  explicit Problem(const Settings& words);

  /// Whether chunks of this many elements may begin where x is aligned, before the row begins: they are then
  /// aligned in y, too. Groups belong to chunks that begin with the row.
  bool chunks_may_shift(int vector) const {
    const bool one_scale = scales == Scales::tensor || scales == Scales::row;
    return one_scale && format->element.bits == 8 &&
           pitch_x % static_cast<std::uint64_t>(vector) == pitch_y % static_cast<std::uint64_t>(vector);
  }
  /// Scales of a row of x.
  std::uint32_t scales_per_row() const { return (n + group - 1) / group; }
  /// What holds an element of x in memory: a byte, on average, if it is padded.
  Type stored_element() const { return packing == kit::NarrowPacking::padded ? b8 : format->element; }
  /// Rows of scales.
  std::uint32_t scale_rows() const { return scales == Scales::block ? (rows + kBlock - 1) / kBlock : rows; }
  kit::ScaleTiles tiles() const { return {rows, scales_per_row()}; }
};

/// The parameters of a problem, checked and complete. Throws Error(usage) for values that do not go together.
Settings complete_problem(const ParameterSpace& space, const Settings& given);

/// Inputs, then the output.
std::vector<TensorPlan> tensors_of(const Problem& problem);
/// Bytes of all inputs without padding, and of the output.
///@{
double input_bytes(const Problem& problem);
double output_bytes(const Problem& problem);
///@}

}  // namespace ptxloom::dequantize_kernel
