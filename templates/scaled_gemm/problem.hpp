// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ptxloom/kit/matrix.hpp"
#include "ptxloom/plan.hpp"
#include "ptxloom/space.hpp"

// The problem as typed data.
namespace ptxloom::scaled_gemm {

/// What a matrix holds: elements, and a scale for each `block` of them along k.
struct Format {
  std::string_view name;
  Type element, scale;
  std::uint32_t block = 0;
};
const Format& find_format(std::string_view name);

/// A or B: `extent` (m or n) stored rows of k elements, and as many rows of scales.
struct Operand {
  Format format;
  std::uint32_t extent = 0, k = 0, ld = 0;

  /// Scales of a row; the last one may be for fewer elements than the others.
  std::uint32_t scales() const { return (k + format.block - 1) / format.block; }
  kit::MatrixOperand matrix() const { return {.type = format.element, .rows = extent, .cols = k, .ld = ld}; }
};

struct Problem {
  std::uint32_t m = 0, n = 0, k = 0;
  Operand a, b;
  Type d;
  std::uint32_t ldd = 0;

  explicit Problem(const Settings& words);
};

/// All parameters, checked.
Settings complete_problem(const ParameterSpace& space, const Settings& given);
/// a, b, scale_a, scale_b and d, in this order.
std::vector<TensorPlan> tensors_of(const Problem& problem);
double input_bytes(const Problem& problem);

}  // namespace ptxloom::scaled_gemm
