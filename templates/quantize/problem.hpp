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
namespace ptxloom::quantize_kernel {

/// Which elements share a scale.
enum class Scales { tensor, row, group, block };
inline constexpr std::uint32_t kBlock =
    128;                               // rows and elements of a row that share a scale, with Scales::block
std::string_view name(Scales scales);  ///< as the parameter `scales` spells it

struct Problem {
  std::uint32_t rows = 0, n = 0;
  Type x;
  const kit::ScaledFormat* format = nullptr;
  Scales scales = Scales::row;
  std::uint32_t group = 0;  // elements of a row that share a scale; of a row or of all: n
  bool scales_up = false;   // scales that are powers of two are rounded up
  kit::NarrowPacking packing = kit::NarrowPacking::dense;
  bool tiled_scales = false;  // in tiles of 128 rows and 4 scales
  bool transposed = false;    // x has n rows of `rows` elements in memory
  bool computed = false;      // the scale of the tensor is computed; else it is given
  bool stochastic = false;    // elements are rounded at random
  std::uint64_t seed = 0;
  std::uint64_t pitch_x = 0, pitch_y = 0;  // in elements

  /// From the settings that complete_problem() returns.
  explicit Problem(const Settings& words);

  /// Whether a team has all elements that share a scale: of a row, or of a block.
  ///@{
  bool whole_rows() const { return scales == Scales::row && !transposed; }
  bool whole_blocks() const { return scales == Scales::block && !transposed; }
  ///@}
  /// Whether a launch before finds the largest magnitudes, for scales of more elements than a team has; and
  /// how many magnitudes there are.
  ///@{
  bool measures_first() const {
    return computed || (transposed && (scales == Scales::row || scales == Scales::block));
  }
  std::uint64_t magnitudes() const { return computed ? 1 : std::uint64_t{scale_rows()} * scales_per_row(); }
  ///@}
  /// Whether chunks of this many elements may begin where x is aligned, before the row begins: they are then
  /// aligned in y, too. Groups and random numbers belong to chunks that begin with the row.
  bool chunks_may_shift(int vector) const {
    const bool one_scale = scales == Scales::tensor || whole_rows();
    return one_scale && format->element.bits == 8 && !transposed && !stochastic &&
           pitch_x % static_cast<std::uint64_t>(vector) == pitch_y % static_cast<std::uint64_t>(vector);
  }
  /// Scales of a row of y.
  std::uint32_t scales_per_row() const { return (n + group - 1) / group; }
  /// What holds an element of y in memory: a byte, on average, if it is padded.
  Type stored_element() const { return packing == kit::NarrowPacking::padded ? b8 : format->element; }
  /// Rows of scales.
  std::uint32_t scale_rows() const { return scales == Scales::block ? (rows + kBlock - 1) / kBlock : rows; }
  kit::ScaleTiles tiles() const { return {rows, scales_per_row()}; }
};

/// The parameters of a problem, checked and complete. Throws Error(usage) for values that do not go together.
Settings complete_problem(const ParameterSpace& space, const Settings& given);

/// Inputs, then the outputs.
std::vector<TensorPlan> tensors_of(const Problem& problem);
/// Bytes of all inputs without padding, and of the outputs.
///@{
double input_bytes(const Problem& problem);
double output_bytes(const Problem& problem);
///@}

}  // namespace ptxloom::quantize_kernel
