// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "exec/machine/delays.hpp"
#include "exec/machine/grid.hpp"
#include "exec/machine/printer.hpp"
#include "exec/watch/traffic.hpp"

// The clusters of a grid, which host threads take in order. The error of the first failing cluster is the
// result, whatever the number of threads: clusters before it still run, those after it are not started.
namespace ptxloom::exec {

class Work {
 public:
  /// `alone`: one host thread runs all clusters.
  Work(const Grid& grid, bool alone)
      : grid_(grid), printer_(grid.launch().print, alone), delays_(grid.launch().schedule) {}

  /// The next cluster that nobody has taken, if any. A kernel may take one too, to do its work itself
  /// (clusterlaunchcontrol).
  std::optional<std::uint64_t> take();
  /// Calls f when those of all clusters before have returned, and while no other runs.
  void in_order(std::uint64_t cluster, const std::function<void()>& f);
  /// Clusters that have not started.
  std::uint64_t left() const;
  void fail(std::uint64_t cluster, std::exception_ptr error);
  /// Rethrows the error of the first cluster that failed.
  void rethrow() const;
  Printer& printer() { return printer_; }
  /// Those of Launch::schedule.
  Delays& delays() { return delays_; }

 private:
  const Grid& grid_;
  mutable std::mutex mutex_;
  std::uint64_t next_ = 0;
  std::uint64_t failed_ = ~std::uint64_t{0};
  std::exception_ptr error_;
  std::mutex order_mutex_;  // held during f
  std::condition_variable turned_;
  std::uint64_t turn_ = 0;  // of in_order
  Printer printer_;
  Delays delays_;
};

/// Runs all clusters on `jobs` host threads, or alternately on one if thread blocks communicate, within the
/// launch or with other launches. Returns the counts of each operation, if requested.
Counts run_clusters(const Grid& grid, unsigned jobs, bool count);

}  // namespace ptxloom::exec
