// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "ptxloom/tune.hpp"

// A task's tensors on the device, in several sets that launches use in turn. A lap through the sets touches
// more than the L2 cache holds, so that no launch finds its inputs where the one before left them; for
// problems of a few KB that would take too many sets, and there the cache stays warm.
namespace ptxloom::tune {

/// A kernel ready to be timed: a graph of launches that goes through all sets.
struct Lap {
  Function function;
  Graph graph;
  std::size_t launches = 0;
};

class Workbench {
 public:
  Workbench(const DeviceContext& device, const Task& task);

  /// Loads the candidate's machine code.
  Function load(const Candidate& candidate) const;
  /// Runs it once on poisoned outputs and compares.
  Verdict verify(const Function& function, const LaunchPlan& launch) const;
  /// Records launches that take about `target_us` in all, but at least one for each set.
  Lap record(const Function& function, const LaunchPlan& launch, double target_us) const;
  /// One replay: microseconds for one launch.
  double time_us(const Lap& lap) const;

 private:
  using Set = std::vector<DeviceMemory>;  // by tensor

  Arguments pack(const Function& function, const LaunchPlan& launch, const Set& set) const;
  std::vector<Arguments> pack_all(const Function& function, const LaunchPlan& launch) const;

  const DeviceContext& device_;
  const Task& task_;
  Stream stream_;
  Event start_, stop_;
  std::vector<Set> sets_;
};

}  // namespace ptxloom::tune
