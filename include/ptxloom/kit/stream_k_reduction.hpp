// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ptxloom/kit/accumulators.hpp"
#include "ptxloom/kit/grid_rendezvous.hpp"
#include "ptxloom/kit/stream_k_division.hpp"
#include "ptxloom/layout.hpp"

/// \file
/// The reduction of tiles that thread blocks share (kit/stream_k_division.hpp), through the launch's
/// workspace:
///
///     1. For each portion of a shared tile, a thread block writes its accumulators to a slot of the
///        workspace, and is counted (kit/grid_rendezvous.hpp).
///     2. When it has nothing left to multiply, it waits for all parts of the tiles that it shares.
///     3. It adds up a slice of each of them, in the order of k, and stores the slice.
///
///     workspace   | counters of tiles | slot 0 | slot 1 | ... |      slot t + b: tile t by thread block b
///     a slot      | unit 0 | unit 1 | ... |                          a unit: 16 bytes of each thread
///
/// Every part is read back from memory, even a thread block's own, so the result depends on the grid alone,
/// bit for bit.
///
/// Thread blocks wait for each other: for those with lower numbers, and for some with higher ones. So all are
/// resident at once (LaunchPlan::cooperative). The thread blocks of a cluster that share an operand have
/// parts of adjacent tiles (kit/tile_scheduler.hpp): each reduces its own tile with the thread blocks of its
/// rank.
///
/// Errors: StreamKUnits throws Error(usage, "bad-reduction") for a tile that does not have a unit. Otherwise
/// the functions throw as those of KernelBuilder do.
namespace [[gnu::visibility("default")]] ptxloom {
namespace kit {

/// The accumulators of a thread block's tile.
struct StreamKTile {
  Variant mma;            ///< the instruction whose D they are; needed by the reduction only
  int mma_rows = 0;       ///< rows of its D
  Type type;              ///< of an accumulator: f32, s32 or f64
  int threads = 0;        ///< of a thread block that have accumulators; whole warps or warpgroups
  int part_threads = 32;  ///< that have a part of the tile together: a warp, or with wgmma a warpgroup
  int part_rows = 0;      ///< rows of that part
  int part_columns = 0;   ///< its columns
  int sharing = 1;        ///< thread blocks of a cluster whose tiles form a pair
};

/// The granularity in which tiles are divided: a unit is what all threads of a thread block move in one
/// access each. In each part of the tile it covers some rows and 8 columns.
struct StreamKUnits {
  /// Throws Error(usage, "bad-reduction") for other types and for a tile without a whole unit.
  explicit StreamKUnits(const StreamKTile& tile);

  int accumulators;  ///< of a thread
  int rows;          ///< of a part
  int across;        ///< units side by side in a part
  int count;         ///< units of a part, and so of a tile
  int thread_bytes;  ///< of a thread
  int bytes;         ///< of all threads, side by side

  /// Shared memory of the largest slice of a tile, in bytes.
  int slice_bytes() const { return (count + 1) / 2 * bytes; }
};

/// How many values a thread reads before it adds the first.
struct StreamKReads {
  int parts = 1;  ///< of a unit
  int units = 1;  ///< of a slice
  /// As many as a thread has registers for, if tiles have about `parts` parts. `registers`: of a thread, in
  /// all.
  static StreamKReads fitting(int registers, double parts);
};

/// The layout of the workspace.
struct StreamKWorkspace {
  /// For `tiles` tiles (or pairs) and up to `blocks` thread blocks (or clusters). It begins `at` bytes after
  /// the start of the launch's workspace, a multiple of 16.
  StreamKWorkspace(const StreamKUnits& units, double tiles, std::uint32_t blocks, std::uint64_t at);

  std::uint64_t counters = 0;  ///< where the counters of tiles start, in bytes
  std::uint64_t slots = 0;     ///< where slots start; slot t + b: tile or pair t by thread block or cluster b
  std::uint32_t slot_bytes = 0;  ///< the accumulators of a tile
  std::uint64_t bytes = 0;       ///< where it ends; zero before the first launch
};

/// What the reduction needs of a thread block.
struct StreamKReductionInputs {
  Reg workspace;  ///< address of the launch's workspace, u64, a multiple of 256
  Reg shared;   ///< u32, a multiple of 16: StreamKUnits::slice_bytes() of shared memory, free after the last
                ///< portion
  Reg thread;   ///< index among the threads that have accumulators, u32
  int barrier;  ///< a barrier of the thread block that is free, 0 to 15
};

/// Emits the reduction.
class StreamKReduction {
 public:
  /// All threads that have accumulators call it, and the functions, together.
  StreamKReduction(KernelBuilder& k, const StreamKTile& tile, const StreamKWorkspace& workspace,
                   StreamKReads reads, const StreamKReductionInputs& in);

  /// Writes the accumulators for a portion of a shared tile. `rows`: of D from the first row of the thread's
  /// part on, s32; rows past them are not written.
  void write_part(const Accumulators& accumulators, const SharedTile& tile, Reg rows);
  /// Waits, adds up this thread block's slice, and calls `store` in a loop over the slice's units. It passes
  /// the accumulators of a unit, summed over all parts, and its first row and column in the part (u32).
  /// `rows` as in write_part(). Called after the last write_part(), once for each tile that the thread block
  /// shares.
  void add(const SharedTile& tile, Reg rows,
           const std::function<void(const Accumulators& unit, Reg row, Reg column)>& store);

 private:
  using Unit = std::vector<Reg>;  // what a thread moves in one access
  struct Numbered {
    int number;
    Unit sums;
  };
  struct Slice {
    Reg begin, end;  // units
  };
  std::map<int, std::vector<Numbered>> by_rows(const Accumulators& accumulators) const;
  Reg of_rank(Reg number);
  GridRendezvous rendezvous(const SharedTile& tile);
  Reg slot(Reg block, Reg tile);
  void await(const SharedTile& tile);
  Slice slice(const SharedTile& tile, Reg rows);
  void add_up(const SharedTile& tile, const Slice& slice);
  void add_parts(const SharedTile& tile, const std::vector<Unit>& sums, Reg units_left, Reg from);
  std::vector<Unit> make_units(int number);
  void clear(const Unit& sums);
  std::string opcode(std::string_view start) const;
  void barrier();

  KernelBuilder& k_;
  StreamKTile tile_;
  StreamKWorkspace workspace_;
  StreamKReads reads_;
  StreamKReductionInputs in_;
  StreamKUnits units_;
  Layout map_;  // of an instruction's accumulators
  Type bits_;
  Reg block_;  // number of the thread block, or of its cluster
  Reg rank_;   // in the cluster
  Reg leads_;  // predicate: this thread counts for its thread block
  Reg own_;    // this thread's address in the stages for the first unit of a slice
};

}  // namespace kit
}  // namespace ptxloom
