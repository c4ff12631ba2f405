// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ptxloom/gemm.hpp"
#include "ptxloom/kit/matrix.hpp"
#include "ptxloom/space.hpp"

// The problem as typed data. A and B look alike to the kernel: each has its own extent (m or n), shares the
// depth k, and is contiguous along one of the two.
namespace ptxloom::gemm_kernel {

/// A or B in memory.
struct Matrix : kit::MatrixOperand {
  std::string name;
};

/// C or D in memory, m rows of n elements.
struct Result {
  std::string name;
  Type type;
  std::uint64_t ld = 0, stride = 0;
};

inline constexpr int kPromoted = 128;
/// Extent of a scale block, along k and along the columns of B. Equals the number of products that tensor
/// cores accumulate before promotion.
inline constexpr int kScaleBlock = kPromoted;
/// Number of blocks of this many elements; the last may be partial.
inline std::uint64_t scale_blocks(std::uint32_t extent) {
  return (std::uint64_t{extent} + kScaleBlock - 1) / kScaleBlock;
}
/// Types for which some tensor cores keep fewer accumulator bits than f32 has.
bool is_fp8(Type type);

/// The epilogue: how D follows from alpha times the products and beta times C.
struct EpilogueTerms {
  std::optional<Type> bias;  ///< a vector of n elements
  Activation activation = Activation::none;
  bool c_last = false;  ///< C is added after the activation
  GemmScale scale_a = GemmScale::none, scale_b = GemmScale::none;
  bool scale_d = false;

  bool none() const;
  bool by_block() const { return scale_a == GemmScale::block || scale_b == GemmScale::block; }
  bool by_column() const { return bias || scale_b == GemmScale::vector; }
};

struct Problem {
  std::uint32_t m = 0, n = 0, k = 0;
  std::uint32_t batch = 1;
  GemmGroups groups = GemmGroups::none;
  Matrix a, b;
  Result c, d;
  Type accumulator;            ///< of the tensor cores
  Type arithmetic;             ///< of the epilogue: f32 if the accumulators are integers and D is not s32
  double alpha = 1, beta = 0;  // integers where the arithmetic is s32
  EpilogueTerms terms;
  bool promoted = false;  ///< tensor cores accumulate at most kPromoted products, the rest is f32; also with
                          ///< block scales

  /// Throws Error(usage) for types that do not go together and leading dimensions that are too small.
  Problem(const ParameterSpace& space, const Settings& settings);

  /// With beta = 0 the kernel has no argument for C and loads none of it.
  bool reads_c() const { return beta != 0; }
  /// Results of m x n.
  std::uint32_t results() const { return groups == GemmGroups::contiguous ? 1 : batch; }
};

/// The same product as D^T = B^T A^T: A and B, and m and n, change places. C, D and the epilogue stay those
/// of D.
Problem transposed(Problem problem);

/// The parameters of a problem, checked and complete: defaults that depend on other parameters (d, c,
/// strides) are filled in.
Settings complete_problem(const ParameterSpace& space, const Settings& given);

/// As the parameters of a problem spell it; the second also spells per-row and per-column scales.
std::string activation_name(Activation activation);
std::string scale_name(GemmScale scale, std::string_view each);

/// Bytes of A or B in all batches, without gaps between rows.
double bytes_of(const Problem& problem, const Matrix& matrix);
/// Bytes of A, B, and C if it is read.
double input_bytes(const Problem& problem);

using kit::alignment;
using kit::span;
inline int alignment(const Result& x, std::uint64_t cols, bool whole) {
  return alignment(x.type, x.ld, x.stride, cols, whole);
}

}  // namespace ptxloom::gemm_kernel
