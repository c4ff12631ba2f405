// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <vector>

#include "exec/machine/grid.hpp"
#include "exec/watch/traffic.hpp"

// The clusters of a grid, which host threads take in order. The error of the first failing cluster is the
// result, whatever the number of threads: clusters before it still run, those after it are not started.
namespace ptxloom::exec {

class Work {
 public:
  explicit Work(const Grid& grid) : grid_(grid) {}

  /// The next cluster that nobody has taken, if any. A kernel may take one too, to do its work itself
  /// (clusterlaunchcontrol).
  std::optional<std::uint64_t> take();
  void fail(std::uint64_t cluster, std::exception_ptr error);
  /// Rethrows the error of the first cluster that failed.
  void rethrow() const;

 private:
  const Grid& grid_;
  mutable std::mutex mutex_;
  std::uint64_t next_ = 0;
  std::uint64_t failed_ = ~std::uint64_t{0};
  std::exception_ptr error_;
};

/// Runs all clusters on `jobs` host threads, or alternately on one if thread blocks communicate, within the
/// launch or with other launches. Returns the counts of each operation, if requested.
Counts run_clusters(const Grid& grid, unsigned jobs, bool count);

}  // namespace ptxloom::exec
