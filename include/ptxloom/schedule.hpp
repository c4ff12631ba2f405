// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// The orders in which the executor runs the warps of a launch.
namespace [[gnu::visibility("default")]] ptxloom {
namespace exec {

/// A warp waits before an operation until another warp has executed one of its own: the two then happen in
/// the other order. The wait ends without that if the other warp does not come.
struct Delay {
  /// In place of `until_warp`: the copies in flight in the cluster that mbarriers count complete at once.
  static constexpr std::uint32_t kCopies = ~std::uint32_t{0};

  std::uint64_t cluster = 0;          ///< of the warp that waits, in the grid
  std::uint32_t warp = 0;             ///< in the cluster
  std::uint64_t step = 0;             ///< operations that it executes before it waits
  std::uint64_t until_cluster = 0;    ///< of the warp that it waits for
  std::uint32_t until_warp = 0;       ///< in that cluster
  std::uint32_t until_operation = 0;  ///< in the kernel, as the executor numbers them

  bool operator==(const Delay&) const = default;
};

/// The order in which warps and clusters run.
struct Schedule {
  std::uint64_t seed = 0;          ///< 0: the fixed order; any other number: of a random one
  std::vector<Delay> delays = {};  ///< that change it

  Schedule() = default;  ///< the fixed order
  /// One without delays.
  Schedule(std::uint64_t number) : seed(number) {}  // NOLINT(google-explicit-constructor): a seed is an order
  /// The order of `base` with one more delay.
  Schedule(const Schedule& base, const Delay& delay);

  bool is_fixed() const { return seed == 0 && delays.empty(); }  ///< the fixed order, without delays
  bool operator==(const Schedule&) const = default;
};

/// "7" or "0/0.3@120-0.1@44/0.2@9-copies": the seed, then each delay: warp 3 of cluster 0 waits after 120
/// steps until warp 1 of cluster 0 has executed operation 44; warp 2 after 9 until copies in flight have
/// completed.
std::string to_string(const Schedule& schedule);
/// The opposite of `to_string`. Throws Error(usage, "bad-option").
Schedule parse_schedule(std::string_view text);

/// Schedules that reverse what happened in its order by luck: of two operations at one place in memory, of
/// which one changes it, nothing but the schedule made one the first. Runs of one kernel add to it
/// (Launch::reversals), and `next` gives the schedules to run.
class Reversals {
 public:
  /// In a run in the order `seen`, the operation number `operation` of the warp that `delay` names came
  /// before the one that it waits for.
  void add(const Schedule& seen, const Delay& delay, std::uint32_t operation);
  /// The next schedule that nobody has taken: one for each pair of operations before a second for any, and
  /// those with fewer delays first. Nothing if all are taken.
  std::optional<Schedule> next();

 private:
  struct Waiting {
    std::size_t round, delays;
    Schedule schedule;
  };
  using Pair = std::pair<std::uint32_t, std::uint32_t>;  // of operations, the lower one first
  std::map<Pair, std::size_t> seen_;
  std::vector<Waiting> waiting_;  // as they were added
};

}  // namespace exec
}  // namespace ptxloom
