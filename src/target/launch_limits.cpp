// SPDX-License-Identifier: Apache-2.0
#include "target/launch_limits.hpp"

#include <algorithm>
#include <limits>

#include "target/target_table.hpp"

namespace ptxloom::target {
namespace {

constexpr const char *kSize = "launch-size", *kCluster = "launch-cluster", *kShared = "launch-shared";
constexpr const char* kAxes[] = {"x", "y", "z"};

std::string is(const std::string& name, std::uint64_t value) { return name + " is " + std::to_string(value); }

std::string but_the_most(std::uint64_t most) { return ", but the most is " + std::to_string(most); }

std::optional<LaunchProblem> outside(const char* code, const std::string& name, const Size3& size,
                                     const Size3& most) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::string along = name + "." + kAxes[axis];
    if (size[axis] == 0)
      return LaunchProblem{code, is(along, 0), "give at least 1: use 1 for an axis that is not needed"};
    if (size[axis] > most[axis])
      return LaunchProblem{code, is(along, size[axis]) + but_the_most(most[axis]),
                           name == "grid" && axis != 0
                               ? "use x for the long axis, which can have " + std::to_string(most[0])
                               : "use at most " + std::to_string(most[axis])};
  }
  return std::nullopt;
}

std::optional<LaunchProblem> too_many_threads(const Size3& block, const LaunchRoom& room) {
  const std::uint32_t chip = launch_limits().threads;
  const std::uint32_t most = room.threads == 0 ? chip : std::min(room.threads, chip);
  if (product(block) <= most) return std::nullopt;
  return LaunchProblem{kSize,
                       "a thread block of " + describe(block) + " has " + std::to_string(product(block)) +
                           " threads" + but_the_most(most),
                       most < chip ? "use fewer threads: the kernel's registers or its .maxntid allow no more"
                                   : "use smaller thread blocks, and more of them"};
}

std::optional<LaunchProblem> cluster_problem(const LaunchShape& shape, const LaunchRoom& room) {
  const std::optional<Size3>& asked = shape.cluster ? shape.cluster : room.required_cluster;
  if (!asked) return std::nullopt;
  const Size3& cluster = *asked;
  if (room.required_cluster && *room.required_cluster != cluster)
    return LaunchProblem{kCluster, "the cluster is " + describe(cluster),
                         "use the one that the kernel requires, " + describe(*room.required_cluster) +
                             " (.reqnctapercluster)"};
  constexpr std::uint32_t kAny = std::numeric_limits<std::uint32_t>::max();
  if (auto found = outside(kCluster, "cluster", cluster, {kAny, kAny, kAny})) return found;
  if (product(cluster) == 1) return std::nullopt;
  if (room.cluster_blocks == 0)
    return LaunchProblem{
        kCluster, "a cluster of " + describe(cluster) + " is requested, but the chip does not have clusters",
        "clusters need sm_90"};
  if (product(cluster) > room.cluster_blocks)
    return LaunchProblem{
        kCluster,
        "a cluster of " + describe(cluster) + " has " + std::to_string(product(cluster)) + " thread blocks" +
            but_the_most(room.cluster_blocks),
        "every chip with clusters supports " + std::to_string(launch_limits().cluster_portable)};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::uint64_t grid = shape.grid[axis], side = cluster[axis];
    if (grid % side == 0) continue;
    return LaunchProblem{kCluster,
                         is(std::string("grid.") + kAxes[axis], grid) +
                             ", which is not a multiple of cluster." + kAxes[axis] + ", " +
                             std::to_string(side),
                         "the next multiple is " + std::to_string((grid / side + 1) * side)};
  }
  return std::nullopt;
}

std::optional<LaunchProblem> shared_problem(const LaunchShape& shape, const LaunchRoom& room) {
  const std::uint64_t asked = shape.static_shared + shape.dynamic_shared;
  if (room.shared == 0 || asked <= room.shared) return std::nullopt;
  return LaunchProblem{
      kShared,
      "a thread block needs " + std::to_string(asked) + " bytes of shared memory, " +
          std::to_string(shape.static_shared) + " static and " + std::to_string(shape.dynamic_shared) +
          " dynamic" + but_the_most(room.shared),
      shape.static_shared < room.shared
          ? "use at most " + std::to_string(room.shared - shape.static_shared) + " dynamic bytes"
          : "declare less .shared memory"};
}

}  // namespace

const LaunchLimits& launch_limits() { return compiled_launch_limits(); }

std::string message_of(std::string_view kernel, const LaunchProblem& problem) {
  return "cannot launch `" + std::string(kernel) + "`: " + problem.message;
}

std::string describe(const Size3& size) {
  return std::to_string(size[0]) + " x " + std::to_string(size[1]) + " x " + std::to_string(size[2]);
}

std::uint64_t product(const Size3& size) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t face = std::uint64_t{size[0]} * size[1];
  return size[2] != 0 && face > kMost / size[2] ? kMost : face * size[2];
}

std::optional<LaunchProblem> find_problem(const LaunchShape& shape, const LaunchRoom& room) {
  const LaunchLimits& limits = launch_limits();
  if (auto found = outside(kSize, "grid", shape.grid, limits.grid)) return found;
  if (auto found = outside(kSize, "block", shape.block, limits.block)) return found;
  if (auto found = too_many_threads(shape.block, room)) return found;
  if (auto found = cluster_problem(shape, room)) return found;
  return shared_problem(shape, room);
}

}  // namespace ptxloom::target
