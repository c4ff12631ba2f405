// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ptxloom/gemm.hpp"
#include "ptxloom/space.hpp"

// The problem as typed data. A and B look alike to the kernel: each has an extent of its own (m or n), shares
// the depth k, and is contiguous along one of the two.
namespace ptxloom::gemm_kernel {

/// A or B in memory: `rows` stored rows of `cols` elements, `ld` elements apart; of several batches `stride`
/// elements apart, or one matrix for all (0).
struct Matrix {
  std::string name;
  Type type;
  bool k_contiguous = true;  ///< a stored row runs along k; else along m (A) or n (B)
  std::uint64_t rows = 0, cols = 0, ld = 0, stride = 0;
};

/// C or D in memory, m rows of n.
struct Result {
  std::string name;
  Type type;
  std::uint64_t ld = 0, stride = 0;
};

inline constexpr int kPromoted = 128;
/// Of k, and of columns of B: what has a scale of its own. As many products as tensor cores sum at most.
inline constexpr int kScaleBlock = kPromoted;
/// Blocks of so many elements, the last maybe not whole.
inline std::uint64_t scale_blocks(std::uint32_t extent) {
  return (std::uint64_t{extent} + kScaleBlock - 1) / kScaleBlock;
}
/// Of which some tensor cores keep less of a sum than f32 has.
bool is_fp8(Type type);

/// What D is of alpha times the products and beta times C.
struct Function {
  std::optional<Type> bias;  ///< of a vector of n
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
  Type accumulator;  ///< of the tensor cores
  Type arithmetic;   ///< of what becomes of their sums: f32 where those are integers and D is not s32
  double alpha = 1, beta = 0;  // integers where the arithmetic is s32
  Function function;
  bool promoted = false;  ///< tensor cores sum kPromoted products at most, the rest is f32; with scales of
                          ///< blocks too

  /// Throws Error(usage) for types that do not go together and leading dimensions that are too small.
  Problem(const ParameterSpace& space, const Settings& words);

  /// A kernel for beta = 0 knows nothing of C: no argument, no load.
  bool reads_c() const { return beta != 0; }
  /// Results of m x n.
  std::uint32_t results() const { return groups == GemmGroups::contiguous ? 1 : batch; }
};

/// The same product as D^T = B^T A^T: A and B, m and n have changed places. C, D and what becomes of sums are
/// still those of D.
Problem transposed(Problem problem);

/// The words of a problem, checked and whole: defaults that depend on other words (d, c, tight strides)
/// filled in.
Settings complete_problem(const ParameterSpace& space, const Settings& given);

/// As a problem's words say it; of a scale for each row or column with that word.
std::string activation_word(Activation activation);
std::string scale_word(GemmScale scale, std::string_view each);

/// Bytes of A or B, of all batches, without what lies between their rows.
double bytes_of(const Problem& problem, const Matrix& matrix);
/// Of A, B and what is read of C.
double input_bytes(const Problem& problem);

/// Elements that a matrix spans from its first to its last, over all batches.
std::uint64_t span(std::uint64_t rows, std::uint64_t cols, std::uint64_t ld, std::uint64_t stride,
                   std::uint64_t batches);

/// The largest power of two, up to 16, that divides every row's start, in every batch, and, where `whole`,
/// its length in bytes.
int alignment(Type type, std::uint64_t ld, std::uint64_t stride, std::uint64_t length, bool whole);
inline int alignment(const Matrix& x, bool whole) { return alignment(x.type, x.ld, x.stride, x.cols, whole); }
inline int alignment(const Result& x, std::uint64_t cols, bool whole) {
  return alignment(x.type, x.ld, x.stride, cols, whole);
}

}  // namespace ptxloom::gemm_kernel
