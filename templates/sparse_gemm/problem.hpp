// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ptxloom/kit/matrix.hpp"
#include "ptxloom/kit/sparse_layout.hpp"
#include "ptxloom/plan.hpp"
#include "ptxloom/space.hpp"

// The problem as typed data.
namespace ptxloom::sparse_gemm {

struct Problem {
  std::uint32_t m = 0, n = 0, k = 0;
  Type type;                    // of A and B
  std::optional<Type> bias, c;  // of a vector and a matrix that are added
  Type d;
  std::uint32_t lda = 0, ldc = 0, ldd = 0;

  /// From the settings that complete_problem() returns.
  explicit Problem(const Settings& words);

  kit::SparseLayout layout() const { return {type, n, k}; }
  kit::MatrixOperand a() const { return {.type = type, .rows = m, .cols = k, .ld = lda}; }
  /// The stored elements of B.
  kit::MatrixOperand values() const;
  Type accumulator() const { return type == s8 ? s32 : f32; }
  /// Of the epilogue.
  Type arithmetic() const { return d == s32 ? s32 : f32; }
};

/// All parameters, checked.
Settings complete_problem(const ParameterSpace& space, const Settings& given);
/// a, the values and metadata of B, bias and c as far as there are any, and d.
std::vector<TensorPlan> tensors_of(const Problem& problem);
/// Random inputs: finite values, and metadata that mean something.
std::vector<HostTensor> inputs_of(const Problem& problem, std::uint64_t seed);
/// The rate in specs/targets.json that bounds the products.
std::string unit_of(const Problem& problem);
/// Bytes that are read and written at least.
///@{
double input_bytes(const Problem& problem);
double output_bytes(const Problem& problem);
///@}

}  // namespace ptxloom::sparse_gemm
