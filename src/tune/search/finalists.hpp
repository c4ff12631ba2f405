// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "ptxloom/tune.hpp"

// Compares the best few. Times taken at different moments differ by more than these candidates do, so each is
// timed in alternation with the leader, round by round, until the confidence interval of the ratio excludes 1
// or is too narrow to matter.
namespace ptxloom::tune {

/// The fastest candidates so far, with everything needed to run them again.
class Finalists {
 public:
  struct One {
    std::size_t candidate = 0;  ///< index into SearchResult::candidates
    double time_us = 0;
    Settings config;
    Candidate code;
  };

  /// Keeps the candidate if it is among the best few.
  void offer(One one);
  const One* best() const { return kept_.empty() ? nullptr : &kept_.front(); }

  /// Compares them, fastest first; `late` ends it. Afterwards the winner is first, with its time.
  std::vector<Comparison> play(Measurer& measurer, const std::function<bool()>& late,
                               const std::function<void(const Reading&)>& seen);

 private:
  Comparison compare(Measurer& measurer, const One& leader, One& other, const std::function<bool()>& late,
                     const std::function<void(const Reading&)>& seen);
  std::vector<One> kept_;
  std::vector<double> leader_us_;
};

}  // namespace ptxloom::tune
