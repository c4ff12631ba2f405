// SPDX-License-Identifier: Apache-2.0
#include "exec/machine/grid.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "exec/machine/cooperative.hpp"
#include "ptxloom/error.hpp"
#include "target/launch_limits.hpp"

namespace ptxloom::exec {
namespace {

[[noreturn]] void refuse(const Code& code, const char* problem, const std::string& what, std::string hint) {
  throw Error(ErrorKind::usage, problem, fmt::format("kernel {}: {}", code.kernel.name, what),
              std::move(hint));
}

// Limits for every launch, with the errors that the driver reports on a GPU.
void check_limits(const Code& code, const Launch& launch, const std::optional<Index3>& asked_cluster) {
  const auto problem = target::find_problem({.grid = launch.grid,
                                             .block = launch.block,
                                             .cluster = asked_cluster,
                                             .static_shared = code.dynamic_shared_offset,
                                             .dynamic_shared = launch.shared_bytes},
                                            {.shared = code.shared_limit,
                                             .cluster_blocks = code.cluster_limit,
                                             .required_cluster = code.kernel.reqnctapercluster});
  if (problem)
    throw Error(ErrorKind::usage, problem->code, target::message_of(code.kernel.name, *problem),
                problem->hint);
}

// The requirements of the kernel's own directives.
void check_block(const Code& code, const Launch& launch) {
  const auto &required = code.kernel.reqntid, &largest = code.kernel.maxntid;
  if (required && *required != launch.block)
    refuse(code, "launch-size", "the thread block is " + target::describe(launch.block),
           fmt::format("use {}, as .reqntid of the kernel requires", target::describe(*required)));
  if (largest && size_of(launch.block) > size_of(*largest))
    refuse(code, "launch-size", "the thread block is " + target::describe(launch.block),
           fmt::format("use at most {} threads, as .maxntid of the kernel requires", size_of(*largest)));
}

void check_parameters(const Code& code, const Launch& launch) {
  if (launch.parameters.size() < code.parameter_bytes)
    refuse(code, "launch-parameters",
           fmt::format("{} bytes of parameters are given, but the kernel has {}", launch.parameters.size(),
                       code.parameter_bytes),
           "lay the parameters out as the kernel's signature says");
}

void check_cluster(const Code& code, const std::optional<Index3>& asked) {
  const ir::Kernel& kernel = code.kernel;
  if (!asked && !kernel.reqnctapercluster && kernel.explicitcluster)
    refuse(code, "launch-cluster", "the launch has no cluster size",
           "give one: the kernel has .explicitcluster");
  if (asked && kernel.maxclusterrank && size_of(*asked) > *kernel.maxclusterrank)
    refuse(code, "launch-cluster", "the cluster is " + target::describe(*asked),
           fmt::format("use at most {} thread blocks, as .maxclusterrank of the kernel requires",
                       *kernel.maxclusterrank));
}

// Variables are placed after all memory that can be allocated (symbols.cpp).
std::vector<Memory::Allocation> reachable(const Code& code, const Memory& memory) {
  std::vector<Memory::Allocation> all = memory.allocations();
  for (GlobalVariable& variable : code.globals) {
    all.push_back({.address = variable.address,
                   .bytes = variable.data.size(),
                   .data = variable.data.data(),
                   .name = variable.name});
  }
  return all;
}

void check_schedule(const Code& code, const Launch& launch, std::uint64_t clusters, std::uint64_t warps) {
  if (launch.reversals != nullptr && (!launch.judge || launch.findings == nullptr))
    refuse(code, "launch-schedule", "reversals are collected by the judge",
           "launch with `judge` and with `findings`");
  if (!launch.schedule.delays.empty() && !launch.judge)
    refuse(code, "launch-schedule", "delays of a schedule need the judge", "launch with `judge`");
  for (const Delay& each : launch.schedule.delays) {
    const bool is_there =
        each.cluster < clusters && each.until_cluster < clusters && each.warp < warps &&
        (each.until_warp < warps || each.until_warp == Delay::kCopies) &&
        (each.until_warp == Delay::kCopies || each.until_operation < code.operations.size());
    if (!is_there)
      refuse(code, "launch-schedule",
             fmt::format("the launch has {} clusters of {} warps, not those of the schedule {}", clusters,
                         warps, to_string(launch.schedule)),
             "a schedule belongs to one kernel and one launch: take one that a finding in this launch names");
  }
}

}  // namespace

Grid::Grid(const Code& code, const Memory& memory, const Launch& launch, std::uint64_t workspace)
    : code_(code),
      memory_(memory),
      launch_(launch),
      workspace_(workspace),
      flows_(launch.judge ? data_flows_of(code) : std::vector<DataFlow>()),
      allocations_(reachable(code, memory)),
      shadow_(launch.judge && launch.findings != nullptr
                  ? std::make_unique<GlobalShadow>(memory, memory.allocations(), code.discards)
                  : nullptr) {
  const auto asked = launch.cluster != Index3{} ? std::optional(launch.cluster) : std::nullopt;
  check_limits(code, launch, asked);
  check_cluster(code, asked);
  check_block(code, launch);
  check_parameters(code, launch);
  cluster_ = asked.value_or(code.kernel.reqnctapercluster.value_or(Index3{1, 1, 1}));
  for (std::size_t axis = 0; axis < 3; ++axis) grid_clusters_[axis] = launch.grid[axis] / cluster_[axis];
  if (launch.cooperative) check_cooperative(code, launch);
  check_schedule(code, launch, clusters(), std::uint64_t{(block_threads() + 31) / 32} * cluster_blocks());
  if (launch.judge && launch.findings != nullptr)
    log_ = std::make_unique<GridLog>(clusters(), !code.communicates);
  if (launch.judge && launch.findings != nullptr && code.grid_wait) early_ = std::make_unique<EarlyReads>();
  if (launch.findings != nullptr) paths_ = std::make_unique<Paths>(code);
  if (launch.reversals != nullptr && code.communicates) uses_ = std::make_unique<PlaceUses>();
}

Grid::Part Grid::reserved_shared() const {
  const std::size_t own = own_shared_bytes(), bytes = code_.sm.shared_reserved;
  if (!code_.uses_reserved_shared || bytes == 0) return {.begin = own, .end = own};
  const std::size_t begin = (own / bytes + 2) * bytes;
  return {.begin = begin, .end = begin + bytes};
}

Index3 Grid::block_index(std::uint64_t cluster, std::uint32_t rank) const {
  const Index3 first = unflatten(cluster, grid_clusters_), within = unflatten(rank, cluster_);
  return {first[0] * cluster_[0] + within[0], first[1] * cluster_[1] + within[1],
          first[2] * cluster_[2] + within[2]};
}

}  // namespace ptxloom::exec
