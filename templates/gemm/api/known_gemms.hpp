// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>

#include "ptxloom/gemm.hpp"

namespace ptxloom::gemm_kernel {

/// The Gemms that a context was asked for most recently, so that the same problem finds its Gemm again.
/// Adding a tuning record clears them, because it may change which configuration is best. Thread-safe.
class KnownGemms {
 public:
  static constexpr std::size_t kMost = 128;
  using State = std::shared_ptr<const Gemm::State>;

  State find(std::uint64_t records, const GemmProblem& problem, const Settings& config,
             const SpecialiseOptions& options, const std::function<State()>& make);

 private:
  struct Known {
    std::size_t hash = 0;
    GemmProblem problem;
    Settings config;
    bool must_hit = false;
    State state;
  };
  std::list<Known>::iterator look_up(std::size_t hash, const GemmProblem& problem, const Settings& config,
                                     const SpecialiseOptions& options);

  std::mutex mutex_;
  std::uint64_t records_ = 0;  // Records::generation
  std::list<Known> last_;      // the latest first
};

}  // namespace ptxloom::gemm_kernel
