// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "exec/judge/data_flow.hpp"
#include "exec/judge/early_reads.hpp"
#include "exec/judge/global_log.hpp"
#include "exec/judge/global_shadow.hpp"
#include "exec/judge/reversible.hpp"
#include "exec/machine/code.hpp"
#include "exec/machine/paths.hpp"

// One launch: what its thread blocks share and do not change. Its unit of work is a cluster; a kernel without
// clusters has one thread block in each.
namespace ptxloom::exec {

using Index3 = std::array<std::uint32_t, 3>;

/// x varies fastest.
inline Index3 unflatten(std::uint64_t index, const Index3& extent) {
  return {static_cast<std::uint32_t>(index % extent[0]),
          static_cast<std::uint32_t>(index / extent[0] % extent[1]),
          static_cast<std::uint32_t>(index / extent[0] / extent[1])};
}
inline std::uint64_t size_of(const Index3& extent) {
  return std::uint64_t{extent[0]} * extent[1] * extent[2];
}

class Grid {
 public:
  /// `workspace`: address of a cooperative grid's barrier; else 0.
  Grid(const Code& code, const Memory& memory, const Launch& launch, std::uint64_t workspace);

  const Code& code() const { return code_; }
  const Launch& launch() const { return launch_; }
  std::uint64_t workspace() const { return workspace_; }
  std::uint32_t block_threads() const { return static_cast<std::uint32_t>(size_of(launch_.block)); }
  const Index3& cluster() const { return cluster_; }               ///< in blocks
  const Index3& cluster_extent() const { return grid_clusters_; }  ///< of the grid, in clusters
  std::uint32_t cluster_blocks() const { return static_cast<std::uint32_t>(size_of(cluster_)); }
  std::uint64_t clusters() const { return size_of(grid_clusters_); }
  /// The index of the thread block with rank `rank` in cluster number `cluster`.
  Index3 block_index(std::uint64_t cluster, std::uint32_t rank) const;
  /// The initial contents of a warp's register file.
  std::span<const std::byte> registers() const { return code_.registers; }
  /// By operation; empty if judging is off.
  const std::vector<DataFlow>& flows() const { return flows_; }
  /// Those of the memory and of the kernel's global variables, by address.
  std::span<const Memory::Allocation> allocations() const { return allocations_; }
  const Memory& memory() const { return memory_; }
  /// Null unless findings are collected.
  GridLog* log() const { return log_.get(); }
  /// Null unless reversals are collected and clusters take turns.
  PlaceUses* uses() const { return uses_.get(); }
  /// Null unless findings are collected.
  GlobalShadow* shadow() const { return shadow_.get(); }
  /// Null unless findings are collected and the kernel waits for the grids before it.
  EarlyReads* early_reads() const { return early_.get(); }
  /// Null unless findings are collected.
  Paths* paths() const { return paths_.get(); }
  /// Bytes of shared memory of a thread block: what the kernel declares and asks for, and that with the
  /// reserved part.
  std::size_t own_shared_bytes() const {
    return std::size_t{code_.dynamic_shared_offset} + launch_.shared_bytes;
  }
  std::size_t shared_bytes() const { return reserved_shared().end; }
  /// The part of a thread block's shared memory that is reserved for the system; empty if the kernel does not
  /// ask where it is. The hardware has it first. Here it is last, and apart from what the kernel declares, so
  /// that offsets are those of the kernel's variables and an access past their end is found.
  struct Part {
    std::size_t begin = 0, end = 0;
  };
  Part reserved_shared() const;

 private:
  const Code& code_;
  const Memory& memory_;
  const Launch& launch_;
  std::uint64_t workspace_;
  Index3 cluster_{1, 1, 1}, grid_clusters_{1, 1, 1};
  std::vector<DataFlow> flows_;
  std::vector<Memory::Allocation> allocations_;
  std::unique_ptr<GridLog> log_;
  std::unique_ptr<GlobalShadow> shadow_;
  std::unique_ptr<PlaceUses> uses_;
  std::unique_ptr<EarlyReads> early_;
  std::unique_ptr<Paths> paths_;
};

}  // namespace ptxloom::exec
