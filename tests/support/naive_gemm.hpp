// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ptxloom/plan.hpp"

// An independent check of gemm: a loop over rows, columns and k that reads a problem's parameters and tensors
// as docs/gemm.md describes them. It shares nothing with templates/gemm, the executor or the library's
// numerics; narrow types are decoded by tests/support/narrow.hpp.
//
// The error allowed for a correct kernel, where S is the sum of the products p[k] of one element of D:
// - Integers: none. S is computed in 64 bits, D wraps around at 32.
// - f64: each of k additions rounds to nearest: k * 2^-52 * sum |p|.
// - Other floats, whose products are exact. Tensor cores align some products (and the accumulator) to the
//   largest of them and drop what is below 23 fraction bits (13 for fp8, of which sm_89 and wgmma keep no
//   more): each product loses less than one ulp towards zero, and so does the accumulator once per step.
//   ulp = 2^(e - 23), 2^(e - 13) for fp8, where 2^e is the power of two at or below the largest |p|, or below
//   the span of all partial sums of S, which bounds the sum of any contiguous part of k, however k is split.
//   + If the operands are multiples of a power of two so large that nothing is below the ulp, nothing is
//     dropped, and S is exact: `whole_tensor` draws such operands.
//   + Otherwise k products lose c[k] ulp, 0 <= c < 1, each towards zero: at most |positive - negative
//     products| ulp where all lose alike, and 3 sqrt(k) ulp, six standard deviations (1/2 at most each), for
//     the differences; the accumulator one ulp for each step of 4 products (fp8: 16), and 8 where parts are
//     added.
//   + With sums=promoted and block scales this holds for each 128 of k. These are added in f32, by stages of
//     at least 8 of k: 16 times half an ulp, 2^-23 of the largest possible sum.
// - The epilogue: 2^-21 of each of alpha * S, beta * C and the bias, unless there is only S times a power of
//   two; the slope of an activation is at most 1.13, and it is accurate to 2^-20 of its argument.
// - The single rounding into D is not an error: D lies between the rounded ends of the interval so far.
namespace ptxloom::test {

/// The result of comparing a D.
struct Comparison {
  std::uint64_t computed = 0;  ///< elements of D that a kernel computes; with groups by their sizes
  std::uint64_t compared = 0;  ///< all of them, or a sample
  bool sampled = false;
  std::uint64_t wrong = 0;    ///< elements that are too far off
  std::uint64_t touched = 0;  ///< elements outside the result that do not hold the poison
  std::string first;          ///< describes the first error

  bool enough() const { return sampled ? compared > 0 : compared == computed; }
  bool ok() const { return enough() && wrong == 0 && touched == 0; }
};

/// `tensors`: the inputs, and D as the kernel left it in a poisoned buffer. For a problem of more than 2e8
/// products a sample is compared, which has elements in every row and column.
Comparison compare_gemm(const Settings& problem, std::span<const HostTensor> tensors);

/// D without any rounding except the last; elements that are not computed keep the poison.
HostTensor naive_gemm(const Settings& problem, const TensorPlan& d, std::span<const HostTensor> inputs);

/// Random integers from -3 to 3, whose products and sums are exact in every type up to k = 65536.
HostTensor whole_tensor(const TensorPlan& plan, std::uint64_t seed);

}  // namespace ptxloom::test
