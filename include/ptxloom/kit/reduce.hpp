// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ptxloom/kit/team.hpp"

/// \file
/// Reductions over the threads of a team. All of its threads call them together and all learn the result,
/// which does not depend on timing:
///
///     1. The lanes of a warp exchange partial results by shuffles at distances 16, 8, 4, 2, 1.
///     2. Each warp writes its result to shared memory: of its thread block, or of each thread block of the
///        cluster (distributed shared memory).
///     3. After one barrier each warp reads all of them and reduces them as in 1.
///
/// Two buffers alternate, so that a reduction needs one barrier: no thread is two reductions ahead. In a team
/// within a warp there is no shared memory and no barrier, but all lanes of the warp take part.
namespace [[gnu::visibility("default")]] ptxloom {
namespace kit {

/// A part of a softmax: the largest value, and the sum of exp(value - max). Without values it is (-inf, 0).
struct SoftmaxSum {
  Reg max;  ///< f32
  Reg sum;  ///< f32, relative to max
};
/// exp(x - max) for f32. If max may be -inf, pass finite_max(k, max): the result is then 0 for x = -inf.
/// With max = -inf itself it is NaN.
Reg exp_below(KernelBuilder& k, Reg x, Reg max);
/// The maximum, or 0 in place of -inf, which cannot be subtracted from itself.
Reg finite_max(KernelBuilder& k, Reg max);
/// The softmax of the values of both parts. It is commutative bit by bit.
SoftmaxSum merge(KernelBuilder& k, const SoftmaxSum& a, const SoftmaxSum& b);

/// Reduces f32 values over a team.
class Reducer {
 public:
  /// Combines two lists of values of the same length. It must be commutative bit by bit, or threads learn
  /// different results.
  using Combine = std::function<std::vector<Reg>(std::span<const Reg> a, std::span<const Reg> b)>;

  /// Declares shared memory `name` for reductions of up to `values` values at once. In a cluster it waits
  /// for the other thread blocks, so all threads must reach it.
  Reducer(KernelBuilder& k, const Team& team, int values = 2, std::string name = "partials");

  Reg sum(Reg x);  ///< the sum over the team
  Reg max(Reg x);  ///< the largest value of the team; NaN is ignored
  /// Several sums, with one barrier. Throws as reduce().
  std::vector<Reg> sums(std::vector<Reg> x);
  /// All parts of a softmax.
  SoftmaxSum softmax(const SoftmaxSum& part);
  /// Any other reduction. `neutral`: for each value, the one that changes no other. Throws Error(usage,
  /// "bad-reduction") if `x` has more values than the constructor's `values`, or another length than
  /// `neutral`.
  std::vector<Reg> reduce(std::vector<Reg> x, std::span<const float> neutral, const Combine& combine);

 private:
  int partials() const { return team_.warps * team_.blocks; }
  void within_warp(std::vector<Reg>& x, int lanes, const Combine& combine);
  void publish(std::span<const Reg> x);
  std::vector<Reg> collect(std::size_t count, std::span<const float> neutral, const Combine& combine);

  KernelBuilder& k_;
  Team team_;
  int values_;
  // Used only where a team is larger than a warp.
  Reg lane_;       // u32
  Reg offset_;     // of the buffer that is used next, in bytes
  Reg read_from_;  // the address of the first buffer
  Reg writes_;     // whether this lane writes its warp's result, to the address `write_to_`
  Reg write_to_;
};

}  // namespace kit
}  // namespace ptxloom
