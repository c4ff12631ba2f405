// SPDX-License-Identifier: Apache-2.0
#include "exec/machine/work.hpp"

#include <algorithm>
#include <cfenv>
#include <memory>
#include <random>
#include <thread>
#include <utility>

#include "exec/machine/cluster.hpp"
#include "exec/machine/cooperative.hpp"
#include "exec/memory/turns.hpp"
#include "ptxloom/error.hpp"

namespace ptxloom::exec {
namespace {

// Steps of a warp per turn: bounds spinning. If thread blocks wait for each other, many may spin at once.
constexpr std::uint64_t kShare = 100'000, kSmallShare = 2'000;

// A fault that is among the findings already.
bool is_collected(const Grid& grid, const Error& error) {
  return grid.launch().findings != nullptr && error.kind() == ErrorKind::device_fault;
}

// Tells when clusters that spin have done so for too long: nobody changes what they wait for.
class Patience {
 public:
  /// After a turn of each resident cluster. `spin`: none of them does anything else.
  bool ends(bool spin) {
    turns_ = spin ? turns_ + 1 : 0;
    return turns_ > kMostTurns;
  }

 private:
  static constexpr std::uint64_t kMostTurns = 1'000;
  std::uint64_t turns_ = 0;
};

// The caller may have set subnormals to be flushed, or another rounding.
class DefaultArithmetic {
 public:
  DefaultArithmetic() {
    std::fegetenv(&caller_);
    std::fesetenv(FE_DFL_ENV);
  }
  DefaultArithmetic(const DefaultArithmetic&) = delete;
  DefaultArithmetic& operator=(const DefaultArithmetic&) = delete;
  ~DefaultArithmetic() { std::fesetenv(&caller_); }

 private:
  std::fenv_t caller_{};
};

// Returns what ended the cluster early, unless that is among the findings.
std::exception_ptr run_one(Cluster& cluster, std::uint64_t index) {
  try {
    cluster.start(index);
    Patience patience;
    while (cluster.turn(kShare))
      if (patience.ends(cluster.spins())) report_spinning(cluster);
  } catch (const Error& error) {
    if (!is_collected(cluster.grid(), error)) return std::current_exception();
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

void run_alone(const Grid& grid, Work& work, Counts& executed) {
  const DefaultArithmetic arithmetic;
  std::uint64_t at = 0;
  try {
    Cluster cluster(grid, work, executed);
    while (const auto index = work.take()) {
      at = *index;
      const std::exception_ptr ended_by = run_one(cluster, at);
      if (grid.log() != nullptr) work.in_order(at, [&] { cluster.join(); });
      if (ended_by) std::rethrow_exception(ended_by);
    }
  } catch (...) {
    work.fail(at, std::current_exception());
  }
}

// How many clusters are resident: as on a large GPU, which for most kernels means all. When findings are
// collected, no more than the target's SMs hold.
std::size_t most_resident(const Grid& grid) {
  if (grid.launch().cooperative) return grid.clusters();  // Grid has checked that they fit
  if (grid.code().cancels) return 2;                      // leaves some to be taken over
  constexpr std::size_t budget = std::size_t{512} << 20;
  const std::size_t warps = (grid.block_threads() + kLanes - 1) / kLanes;
  const std::size_t block = grid.shared_bytes() + warps * (grid.registers().size() + 1024 +
                                                           grid.code().local_bytes * std::size_t{kLanes});
  std::size_t blocks = budget / block;
  if (grid.launch().findings != nullptr)
    blocks = std::min<std::size_t>(blocks, resident_blocks(grid.code(), grid.launch()));
  return std::max<std::size_t>(1, blocks / grid.cluster_blocks());
}

void run_in_turns(const Grid& grid, Work& work, Counts& executed) {
  const DefaultArithmetic arithmetic;
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
    const std::uint64_t seed = grid.launch().schedule.seed;
    std::mt19937_64 random(seed);
    Patience patience;
    while (!resident.empty()) {
      // Without findings, other launches may change what this one waits for.
      const bool spins = grid.launch().findings != nullptr && std::ranges::all_of(resident, &Cluster::spins);
      if (patience.ends(spins)) report_spinning(*resident.front());
      if (seed != 0) std::ranges::shuffle(resident, random);
      std::erase_if(resident, ended);
    }
  } catch (const Error& error) {
    work.fail(at, is_collected(grid, error) ? nullptr : std::current_exception());
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

std::uint64_t Work::left() const {
  const std::scoped_lock lock(mutex_);
  return grid_.clusters() - next_;
}

void Work::in_order(std::uint64_t cluster, const std::function<void()>& f) {
  std::unique_lock lock(order_mutex_);
  turned_.wait(lock, [&] { return turn_ == cluster; });
  ++turn_;  // whatever comes of f
  turned_.notify_all();
  f();
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
  const auto run = grid.code().communicates ? &run_in_turns : &run_alone;
  if (grid.code().communicates) jobs = 1;
  jobs = static_cast<unsigned>(std::min<std::uint64_t>(std::max(jobs, 1u), grid.clusters()));
  Work work(grid, jobs == 1);
  std::vector<Counts> executed(jobs, Counts(count ? grid.code().operations.size() : 0));
  {
    std::vector<std::jthread> helpers;
    for (unsigned i = 1; i < jobs; ++i) helpers.emplace_back([&, i] { run(grid, work, executed[i]); });
    run(grid, work, executed[0]);
  }
  work.printer().flush();
  work.rethrow();
  for (unsigned i = 1; i < jobs; ++i) add(executed[0], executed[i]);
  return std::move(executed[0]);
}

}  // namespace ptxloom::exec
