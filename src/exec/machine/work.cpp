// SPDX-License-Identifier: Apache-2.0
#include "exec/machine/work.hpp"

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>

#include "exec/machine/cluster.hpp"
#include "exec/memory/turns.hpp"

namespace ptxloom::exec {
namespace {

// Steps of a warp per turn: bounds spinning. If thread blocks wait for each other, many may spin at once.
constexpr std::uint64_t kShare = 100'000, kSmallShare = 2'000;

void run_alone(const Grid& grid, Work& work, Counts& executed) {
  std::uint64_t at = 0;
  try {
    Cluster cluster(grid, work, executed);
    while (const auto index = work.take()) {
      at = *index;
      cluster.start(at);
      while (cluster.turn(kShare)) {
      }
    }
  } catch (...) {
    work.fail(at, std::current_exception());
  }
}

// How many clusters are resident: as on a large GPU, which for most kernels means all.
std::size_t most_resident(const Grid& grid) {
  if (grid.launch().cooperative) return grid.clusters();  // Grid has checked that they fit
  if (grid.code().cancels) return 2;                      // leaves some to be taken over
  constexpr std::size_t budget = std::size_t{512} << 20;
  const std::size_t warps = (grid.block_threads() + kLanes - 1) / kLanes;
  const std::size_t block = grid.shared_bytes() + warps * (grid.registers().size() + 1024 +
                                                           grid.code().local_bytes * std::size_t{kLanes});
  return std::max<std::size_t>(1, budget / (block * grid.cluster_blocks()));
}

void run_in_turns(const Grid& grid, Work& work, Counts& executed) {
  std::vector<std::unique_ptr<Cluster>> resident;
  std::uint64_t at = 0;
  try {
    for (std::size_t room = most_resident(grid); room != 0; --room) {
      const auto index = work.take();
      if (!index) break;
      at = *index;
      resident.push_back(std::make_unique<Cluster>(grid, work, executed));
      resident.back()->start(at);
    }
    const auto ended = [&](const std::unique_ptr<Cluster>& cluster) {
      const std::scoped_lock turn(grid.memory().turns());  // other launches run in between
      at = cluster->index();
      if (cluster->turn(kSmallShare)) return false;
      const auto next = work.take();
      if (next) cluster->start(*next);
      return !next.has_value();
    };
    while (!resident.empty()) std::erase_if(resident, ended);
  } catch (...) {
    work.fail(at, std::current_exception());
  }
}

void add(Counts& total, const Counts& more) {
  for (std::size_t i = 0; i < total.size(); ++i) total[i] += more[i];
}

}  // namespace

std::optional<std::uint64_t> Work::take() {
  const std::scoped_lock lock(mutex_);
  if (next_ >= std::min(grid_.clusters(), failed_)) return std::nullopt;
  return next_++;
}

void Work::fail(std::uint64_t cluster, std::exception_ptr error) {
  const std::scoped_lock lock(mutex_);
  if (error_ && cluster >= failed_) return;
  failed_ = cluster;
  error_ = std::move(error);
}

void Work::rethrow() const {
  if (error_) std::rethrow_exception(error_);
}

Counts run_clusters(const Grid& grid, unsigned jobs, bool count) {
  Work work(grid);
  const auto run = grid.code().communicates ? &run_in_turns : &run_alone;
  if (grid.code().communicates) jobs = 1;
  jobs = static_cast<unsigned>(std::min<std::uint64_t>(std::max(jobs, 1u), grid.clusters()));
  std::vector<Counts> executed(jobs, Counts(count ? grid.code().operations.size() : 0));
  {
    std::vector<std::jthread> helpers;
    for (unsigned i = 1; i < jobs; ++i) helpers.emplace_back([&, i] { run(grid, work, executed[i]); });
    run(grid, work, executed[0]);
  }
  work.rethrow();
  for (unsigned i = 1; i < jobs; ++i) add(executed[0], executed[i]);
  return std::move(executed[0]);
}

}  // namespace ptxloom::exec
