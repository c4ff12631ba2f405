// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "ptxloom/kit/scaled_matrix.hpp"
#include "ptxloom/plan.hpp"
#include "ptxloom/space.hpp"

// The problem as typed data.
namespace ptxloom::dequantize_kernel {

using kit::kScaleBlock;
using kit::Scales;

/// Its scaled matrix is x.
struct Problem : kit::ScaledMatrix {
  Type y;
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
