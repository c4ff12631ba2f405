// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>

#include "gemm/epilogue/result.hpp"
#include "gemm/sync/grid_rendezvous.hpp"
#include "ptxloom/kit/stream_k_division.hpp"

// The reduction of tiles that thread blocks share (kit/stream_k_division.hpp), through the launch's
// workspace. Each thread block writes its accumulators for a part of k there and is counted. When it has
// nothing left to multiply, it waits for all parts of the tiles it shares, adds up a slice of each in the
// order of k, and stores the slice. Every part is read back from memory, even a thread block's own, so the
// result depends on the grid alone, bit for bit.
//
// Thread blocks wait for each other: for those with lower numbers, and for some with higher ones. There are
// no more of them than SMs, and the launch is cooperative: all run at once, or the launch fails.
//
// Thread blocks of a cluster that share an operand have parts of adjacent tiles
// (kit/stream_k_division.hpp): each reduces its own tile with the thread blocks of its rank.
//
// The thread blocks of a tile synchronise through a counter (sync/grid_rendezvous.hpp).
namespace ptxloom::gemm_kernel {

inline constexpr std::uint32_t kTypicalSms = 132;  // of a chip that has wgmma

/// The layout of the workspace.
struct StreamPlan {
  /// Placed after the first `at` bytes.
  StreamPlan(const Problem& problem, const Config& config, std::uint64_t at);

  std::uint32_t blocks = 0;    ///< of the grid, at most; whole clusters
  std::uint64_t counters = 0;  ///< where the counters of tiles start
  std::uint64_t slots = 0;     ///< where slots start; slot t + b has tile (or pair) t by block (or cluster) b
  std::uint32_t slot_bytes = 0;              ///< the accumulators of a tile
  std::uint64_t workspace_bytes = 0;         ///< total
  int parts_at_once = 1, units_at_once = 1;  ///< read before the first is added, in a slice
};

/// Whether stream-K may pay: few tiles and a deep k.
bool may_stream_k(const Problem& problem);
/// The k-blocks of all tiles.
double stream_k_blocks(const Problem& problem, const Config& config);
/// How k-blocks are divided (kit/stream_k_division.hpp) on a chip with this many SMs.
struct StreamShare {
  StreamShare(const StreamPlan& plan, const Problem& problem, const Config& config, double sms);

  double blocks;    ///< thread blocks that have a share
  double parts;     ///< per tile; below 2, tiles are divided anywhere
  double k_blocks;  ///< k-blocks per thread block
};
/// The granularity in which tiles are sliced: the accumulators that a thread moves in one access; with those
/// of its warp or warpgroup they cover some rows and 8 columns.
struct StreamUnits {
  StreamUnits(const Problem& problem, const Config& config);

  int accumulators;   ///< of a thread
  int rows;           ///< of all threads that multiply together
  int across, count;  ///< in their part of a tile: side by side, and in total
  int thread_bytes;   ///< per thread
  int bytes;          ///< of all threads side by side
};
/// The most shared memory that a slice of a tile takes.
int stream_slice_bytes(const Problem& problem, const Config& config);

struct StreamReductionInputs {
  Reg workspace;
  Reg shared;   ///< address of the thread block's stages, unused after its last portion
  Reg thread;   ///< index among the threads that multiply
  int barrier;  ///< a barrier number that is free
};

class StreamReduction {
 public:
  StreamReduction(KernelBuilder& k, const Problem& problem, const Config& config, const StreamPlan& plan,
                  const StreamReductionInputs& in);

  /// `rows`: rows of D from the warp's first on, s32; rows past them are not written.
  void write_part(const Accumulators& accumulators, const kit::SharedTile& tile, Reg rows);
  /// Waits, adds up this thread block's slice, and calls `store` in a loop over the slice's units. It passes
  /// their distance in mma rows and columns from the start of the warp's, or warpgroup's, part.
  void add(const kit::SharedTile& tile, Reg rows,
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
  GridRendezvous rendezvous(const kit::SharedTile& tile);
  Reg slot(Reg block, Reg tile);
  void await(const kit::SharedTile& tile);
  Slice slice(const kit::SharedTile& tile, Reg rows);
  void add_up(const kit::SharedTile& tile, const Slice& slice);
  void add_parts(const kit::SharedTile& tile, const std::vector<Unit>& sums, Reg units_left, Reg from);
  std::vector<Unit> make_units(int number);
  void clear(const Unit& sums);
  std::string opcode(std::string_view start) const;
  void barrier();

  KernelBuilder& k_;
  const Config& c_;
  const StreamPlan& plan_;
  const StreamReductionInputs in_;
  StreamUnits units_;
  Type type_, bits_;
  Reg block_;  // or cluster
  Reg rank_;   // in the cluster
  Reg leads_;  // predicate: this thread counts for its thread block
  Reg own_;    // this thread's address in the stages for the first unit of a slice
};

}  // namespace ptxloom::gemm_kernel
