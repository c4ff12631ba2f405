// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "ptxloom/kit/scaled_matrix.hpp"
#include "ptxloom/plan.hpp"
#include "ptxloom/space.hpp"

// The problem as typed data.
namespace ptxloom::quantize_kernel {

using kit::kScaleBlock;
using kit::Scales;

/// Its scaled matrix is y.
struct Problem : kit::ScaledMatrix {
  Type x;
  bool scales_up = false;   // scales that are powers of two are rounded up
  bool transposed = false;  // x has n rows of `rows` elements in memory
  bool computed = false;    // the scale of the tensor is computed; else it is given
  bool stochastic = false;  // elements are rounded at random
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
