// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "ptxloom/kit/weight_layout.hpp"
#include "ptxloom/plan.hpp"
#include "ptxloom/space.hpp"

// The problem as typed data.
namespace ptxloom::shuffle_weights {

struct Problem {
  std::uint32_t n = 0, k = 0, batch = 1;
  Type element, activations;
  std::uint32_t group = 0;  // elements that share a scale
  Type scale;
  std::uint32_t pitch = 0;  // in elements

  /// From the settings that complete_problem() returns.
  explicit Problem(const Settings& words);

  bool zero_points() const { return element == u4; }
  kit::WeightLayout layout() const { return {element, n, k, activations}; }
  /// Scales of a row of x.
  std::uint32_t scales() const { return (k + group - 1) / group; }
  /// Tiles of all batches; and groups of scales, 64 for each tile row.
  ///@{
  std::uint64_t tiles() const { return batch * layout().row_tiles() * layout().depth_tiles(); }
  std::uint64_t scale_groups() const { return batch * layout().row_tiles() * layout().groups(group); }
  ///@}
};

/// The parameters of a problem, checked and complete. Throws Error(usage) for values that do not go together.
Settings complete_problem(const ParameterSpace& space, const Settings& given);
/// x, scale, zero if there are zero points, then the same in the layout: b, scale_b, zero_b.
std::vector<TensorPlan> tensors_of(const Problem& problem);
/// Bytes of all inputs, without padding, and of all outputs.
///@{
double input_bytes(const Problem& problem);
double output_bytes(const Problem& problem);
///@}

}  // namespace ptxloom::shuffle_weights
