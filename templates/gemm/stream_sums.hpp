// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>

#include "meeting.hpp"
#include "result.hpp"
#include "stream_division.hpp"

// The sums of tiles that blocks share (stream_division.hpp), through the launch's workspace. Each block
// leaves its sums of a part of k there and is counted. When it has nothing more to multiply, it waits for all
// parts of the tiles it shares, adds up a slice of each, in the order of k, and stores that. Every part is
// read back from memory, a block's own too, so the bits depend on the grid alone.
//
// Blocks wait for each other: for those with lower numbers, and for some with higher ones. They are not more
// than the SMs, and the launch is cooperative: all run at once, or it fails.
//
// Blocks of a cluster that share an operand have parts of neighbouring tiles (stream_division.hpp): each sums
// up its own with the blocks of its rank.
//
// The blocks of a tile meet at its counter (meeting.hpp).
namespace ptxloom::gemm_kernel {

/// Where the workspace has what.
struct StreamPlan {
  /// Behind the first `at` bytes.
  StreamPlan(const Problem& problem, const Config& config, std::uint64_t at);

  std::uint32_t blocks = 0;    ///< of the grid, at most; whole clusters
  std::uint64_t counters = 0;  ///< where those of tiles begin
  std::uint64_t slots = 0;     ///< where sums begin; those of tile, or pair, t by block, or cluster, b: t + b
  std::uint32_t slot_bytes = 0;              ///< the sums of a tile
  std::uint64_t workspace_bytes = 0;         ///< in all
  int parts_at_once = 1, units_at_once = 1;  ///< of a slice: that are read before the first is added
};

/// Whether stream-K may pay: tiles are few and k is deep.
bool shares_steps(const Problem& problem);
/// Steps of k, of all tiles.
double stream_steps(const Problem& problem, const Config& config);
/// How steps are divided (stream_division.hpp) on a chip of so many SMs.
struct StreamShare {
  StreamShare(const StreamPlan& plan, const Problem& problem, const Config& config, double sms);

  double blocks;  ///< that have a share
  double parts;   ///< of a tile, of as many blocks; below 2 tiles are divided anywhere
  double steps;   ///< of a block
};
/// What parts of a tile are dealt out in: the sums that a thread moves at once, which with those of its warp,
/// or of its warpgroup, are of some rows and 8 columns.
struct StreamUnits {
  StreamUnits(const Problem& problem, const Config& config);

  int sums;           ///< of a thread
  int rows;           ///< of all threads that multiply together
  int across, count;  ///< of their part of a tile: side by side, and in all
  int thread_bytes;   ///< of one
  int bytes;          ///< of one of each thread, side by side
};
/// Shared memory that a slice of a tile takes at most.
int stream_slice_bytes(const Problem& problem, const Config& config);

struct StreamSumInputs {
  Reg workspace;
  Reg shared;   ///< address of the block's stages, which nobody reads behind its last portion
  Reg thread;   ///< among those that multiply
  int barrier;  ///< a number that the block has free
};

class StreamSums {
 public:
  StreamSums(KernelBuilder& k, const Problem& problem, const Config& config, const StreamPlan& plan,
             const StreamSumInputs& in);

  /// `rows`: that D has from the warp's first on, s32; what lies behind them is not left.
  void leave(const Accumulators& sums, const SharedTile& tile, Reg rows);
  /// Waits, adds up this block's slice, and calls `store` in a loop over its units, which begin so many rows
  /// and columns, of those of the mma, behind the first of the warp's, or warpgroup's, part.
  void add(const SharedTile& tile, Reg rows,
           const std::function<void(const Accumulators& unit, Reg row, Reg column)>& store);

 private:
  using Unit = std::vector<Reg>;  // what a thread moves at once
  struct Numbered {
    int number;
    Unit sums;
  };
  struct Slice {
    Reg begin, end;  // units
  };
  std::map<int, std::vector<Numbered>> by_rows(const Accumulators& sums) const;
  Reg of_rank(Reg number);
  Meeting meeting(const SharedTile& tile);
  Reg slot(Reg block, Reg tile);
  void await(const SharedTile& tile);
  Slice slice(const SharedTile& tile, Reg rows);
  void add_up(const SharedTile& tile, const Slice& slice);
  void add_parts(const SharedTile& tile, const std::vector<Unit>& sums, Reg units_left, Reg from);
  std::vector<Unit> make_units(int number);
  void clear(const Unit& sums);
  std::string opcode(std::string_view start) const;
  void meet();

  KernelBuilder& k_;
  const Config& c_;
  const StreamPlan& plan_;
  const StreamSumInputs in_;
  StreamUnits units_;
  Type type_, bits_;
  Reg block_;  // or cluster
  Reg rank_;   // in it
  Reg leads_;  // predicate: this thread counts for its block
  Reg own_;    // this thread's place in the stages, for the first unit of a slice
};

}  // namespace ptxloom::gemm_kernel
