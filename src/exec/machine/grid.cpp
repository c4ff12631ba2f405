// SPDX-License-Identifier: Apache-2.0
#include "exec/machine/grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "ptxloom/error.hpp"

namespace ptxloom::exec {
namespace {

[[noreturn]] void refuse(const Code& code, const char* problem, const std::string& what, std::string hint) {
  throw Error(ErrorKind::usage, problem, fmt::format("kernel {}: {}", code.kernel.name, what),
              std::move(hint));
}

std::string describe(const Index3& extent) {
  return fmt::format("{}x{}x{}", extent[0], extent[1], extent[2]);
}

void check_size(const Code& code, const Launch& launch) {
  constexpr std::uint32_t most = 1024;
  if (std::ranges::find(launch.grid, 0u) != launch.grid.end() ||
      std::ranges::find(launch.block, 0u) != launch.block.end())
    refuse(code, "launch-size", "a grid or block of size 0", "use 1 for an axis that is not needed");
  if (std::ranges::max(launch.block) > most || size_of(launch.block) > most)
    refuse(code, "launch-size", "a block of " + describe(launch.block),
           fmt::format("a block has at most {} threads", most));
  const auto &required = code.kernel.reqntid, &largest = code.kernel.maxntid;
  if (required && *required != launch.block)
    refuse(code, "launch-size", "the block is " + describe(launch.block),
           fmt::format("the kernel requires {} (.reqntid)", describe(*required)));
  if (largest && size_of(launch.block) > size_of(*largest))
    refuse(code, "launch-size", "the block is " + describe(launch.block),
           fmt::format("the kernel allows {} threads (.maxntid)", size_of(*largest)));
}

void check_memory(const Code& code, const Launch& launch) {
  const std::size_t shared = std::size_t{code.dynamic_shared_offset} + launch.shared_bytes;
  if (code.shared_limit != 0 && shared > code.shared_limit)
    refuse(code, "launch-shared",
           fmt::format("{} bytes of shared memory are asked for, {} of them static", shared,
                       code.static_shared_bytes),
           fmt::format("a block on the kernel's target has at most {}", code.shared_limit));
  if (launch.parameters.size() < code.parameter_bytes)
    refuse(code, "launch-parameters",
           fmt::format("{} bytes of parameters are given, the kernel has {}", launch.parameters.size(),
                       code.parameter_bytes),
           "lay the parameters out as the kernel's signature says");
}

// What the launch asks for, else what the kernel requires, else one block.
Index3 cluster_of(const Code& code, const Launch& launch) {
  constexpr std::uint64_t most = 16;
  const auto& required = code.kernel.reqnctapercluster;
  const bool asked = launch.cluster != Index3{};
  const Index3 cluster = asked ? launch.cluster : required.value_or(Index3{1, 1, 1});
  const std::uint64_t largest = code.kernel.maxclusterrank.value_or(most);
  if (asked && required && *required != cluster)
    refuse(code, "launch-cluster", "the cluster is " + describe(cluster),
           fmt::format("the kernel requires {} (.reqnctapercluster)", describe(*required)));
  if (!asked && !required && code.kernel.explicitcluster)
    refuse(code, "launch-cluster", "the launch names no cluster",
           "the kernel requires one (.explicitcluster)");
  if (size_of(cluster) == 0 || size_of(cluster) > largest)
    refuse(code, "launch-cluster", "a cluster of " + describe(cluster),
           fmt::format("a cluster has 1 to {} blocks", largest));
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (launch.grid[axis] % cluster[axis] == 0) continue;
    refuse(code, "launch-cluster",
           fmt::format("a grid of {} in clusters of {}", describe(launch.grid), describe(cluster)),
           "make each side of the grid a multiple of the cluster's");
  }
  return cluster;
}

}  // namespace

Grid::Grid(const Code& code, const Memory& memory, const Launch& launch)
    : code_(code),
      memory_(memory),
      launch_(launch),
      registers_(code.registers),
      flows_(launch.judge ? data_flows_of(code) : std::vector<DataFlow>()),
      allocations_(memory.allocations()) {
  check_size(code, launch);
  check_memory(code, launch);
  cluster_ = cluster_of(code, launch);
  for (std::size_t axis = 0; axis < 3; ++axis) grid_clusters_[axis] = launch.grid[axis] / cluster_[axis];
}

Index3 Grid::block_index(std::uint64_t cluster, std::uint32_t rank) const {
  const Index3 first = unflatten(cluster, grid_clusters_), within = unflatten(rank, cluster_);
  return {first[0] * cluster_[0] + within[0], first[1] * cluster_[1] + within[1],
          first[2] * cluster_[2] + within[2]};
}

}  // namespace ptxloom::exec
