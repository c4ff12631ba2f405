// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "ptxloom/tune.hpp"

// The best few, held against each other. Times taken at different moments differ by more than the best few
// do, so they are timed in turns with the leader, round by round, until the ratio's confidence interval lies
// on one side of 1 or is too narrow to matter.
namespace ptxloom::tune {

/// The fastest candidates so far, with what it takes to run them again.
class Finalists {
 public:
  struct One {
    std::size_t candidate = 0;  ///< place in SearchResult::candidates
    double time_us = 0;
    Settings config;
    Candidate code;
  };

  /// Keeps it if it is among the best few.
  void offer(One one);
  const One* best() const { return kept_.empty() ? nullptr : &kept_.front(); }

  /// Compares them, the fastest first; `late` ends it. The winner comes first afterwards, with its time.
  std::vector<Comparison> play(Measurer& measurer, const std::function<bool()>& late,
                               const std::function<void(const Reading&)>& seen);

 private:
  Comparison compare(Measurer& measurer, const One& leader, One& other, const std::function<bool()>& late,
                     const std::function<void(const Reading&)>& seen);
  std::vector<One> kept_;
  std::vector<double> leader_us_;
};

}  // namespace ptxloom::tune
