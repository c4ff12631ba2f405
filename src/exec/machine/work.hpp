// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <vector>

#include "exec/machine/grid.hpp"
#include "exec/watch/traffic.hpp"

// The clusters of a grid, which host threads take in order. Of clusters that fail, the first is the result,
// whatever the number of threads: those before it still run, those behind it are not begun.
namespace ptxloom::exec {

class Work {
 public:
  explicit Work(const Grid& grid) : grid_(grid) {}

  /// The next cluster that nobody has; nothing if there is none. A kernel may take one too, to do its work
  /// itself (clusterlaunchcontrol).
  std::optional<std::uint64_t> take();
  void fail(std::uint64_t cluster, std::exception_ptr error);
  /// Throws what the first cluster that failed threw.
  void rethrow() const;

 private:
  const Grid& grid_;
  mutable std::mutex mutex_;
  std::uint64_t next_ = 0;
  std::uint64_t failed_ = ~std::uint64_t{0};
  std::exception_ptr error_;
};

/// Runs all clusters on `jobs` host threads, or in turns on one if blocks communicate, with each other or
/// with those of other launches. Gives what each operation did, if asked to count.
Counts run_clusters(const Grid& grid, unsigned jobs, bool count);

}  // namespace ptxloom::exec
