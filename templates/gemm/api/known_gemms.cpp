// SPDX-License-Identifier: Apache-2.0
#include "gemm/api/known_gemms.hpp"

#include <algorithm>
#include <utility>

namespace ptxloom::gemm_kernel {
namespace {

/// Hashes what usually differs; the rest is compared.
std::size_t hash_of(const GemmProblem& problem) {
  std::uint64_t hash = problem.a.bits;
  for (const std::uint64_t value : {problem.m, problem.n, problem.k, problem.lda, problem.ldd, problem.batch})
    hash = (hash ^ value) * 0x9e3779b97f4a7c15 + (hash >> 29);
  return hash;
}

}  // namespace

std::list<KnownGemms::Known>::iterator KnownGemms::look_up(std::size_t hash, const GemmProblem& problem,
                                                           const Settings& config,
                                                           const SpecialiseOptions& options) {
  return std::ranges::find_if(last_, [&](const Known& known) {
    return known.hash == hash && known.must_hit == options.must_hit && known.problem == problem &&
           known.config == config;
  });
}

KnownGemms::State KnownGemms::find(std::uint64_t records, const GemmProblem& problem, const Settings& config,
                                   const SpecialiseOptions& options, const std::function<State()>& make) {
  const std::size_t hash = hash_of(problem);
  std::list<Known> forgotten;  // destroyed outside the lock
  {
    const std::scoped_lock lock(mutex_);
    if (records_ != records) forgotten.swap(last_);
    records_ = records;
    if (const auto known = look_up(hash, problem, config, options); known != last_.end()) {
      last_.splice(last_.begin(), last_, known);
      return known->state;
    }
  }
  State state = make();
  const std::scoped_lock lock(mutex_);
  if (const auto known = look_up(hash, problem, config, options); known != last_.end()) return known->state;
  if (records_ != records) return state;  // made before a tuning record was added
  if (last_.size() == kMost) forgotten.splice(forgotten.begin(), last_, std::prev(last_.end()));
  last_.push_front({hash, problem, config, options.must_hit, state});
  return state;
}

}  // namespace ptxloom::gemm_kernel
