// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ptxloom/plan.hpp"
#include "ptxloom/space.hpp"

// The problem as typed data.
namespace ptxloom::rowwise_kernel {

enum class Op { softmax, log_softmax, rms_norm, layer_norm };
std::string_view name(Op op);  ///< as the parameter `op` spells it

struct Problem {
  Op op = Op::softmax;
  std::uint32_t rows = 0, n = 0;
  Type x, y;
  std::uint64_t pitch_x = 0, pitch_y = 0;      // in elements
  std::optional<Type> residual, weight, bias;  // of norms
  double eps = 0;                              // of norms

  /// From the settings that complete_problem() returns.
  explicit Problem(const Settings& words);

  /// Whether each row of y is divided by a scale of its own, the second output, so that its largest value is
  /// 448.
  bool quantised() const { return y == e4m3; }
  bool is_norm() const { return op == Op::rms_norm || op == Op::layer_norm; }
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

}  // namespace ptxloom::rowwise_kernel
