// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "inline_load.hpp"

// The main loop of a warpgroup that multiplies: its rows and columns of a tile of D, accumulated over the
// stages of the pipeline. One group of wgmma is always in flight: while it runs, the warpgroup waits for the
// next stage and issues the products of that; then it releases the stage before. The stages of tiles that are
// another warpgroup's turn it skips. Where sums are promoted it waits for the products of each stage, and
// adds them to f32 sums; another warpgroup multiplies meanwhile. Where no other warp loads, a stage is filled
// again in each step, while its products are under way (inline_load.hpp).
namespace ptxloom::gemm_kernel {

/// Of two warpgroups, each with tiles of its own: their products do not mix, for a stage's barrier tells no
/// more than two turns of the ring apart.
struct Turn {
  Reg number;          ///< of the warpgroup: whose tile is the first
  Reg stages;          ///< of a tile
  Reg barrier, other;  ///< numbers of named barriers: its own, and the other warpgroup's
};

struct WgmmaInputs {
  Reg stages;                      ///< shared address of stage 0
  Reg row, column;                 ///< of the warpgroup's part in the tile; the same in all its threads
  std::optional<Turn> turn;        ///< of a warpgroup that computes every other tile
  Reg releases;                    ///< predicate: this thread speaks for a reader of stages
  StagedScales* scales = nullptr;  ///< that sums of a stage are promoted with, where there are any
  InlineLoads* loads = nullptr;    ///< in between, where no other warp does
};

class WgmmaLoop {
 public:
  WgmmaLoop(KernelBuilder& k, const Config& config, const WgmmaPlan& plan, Pipeline& pipeline,
            const WgmmaInputs& in);

  /// The products of one tile, over so much of k. When it returns, no wgmma is in flight.
  void run(Reg depth);
  const Accumulators& accumulators() const { return plan_.promotes ? sums_ : accumulators_; }

 private:
  struct Operand {
    const OperandTile& tile;
    Reg low;   ///< low half of the matrix descriptor for this warpgroup's part of stage 0
    Reg high;  ///< high half
  };
  Operand operand(const OperandTile& tile, Reg start);
  Reg descriptor(const Operand& operand, Reg stage_low, int extent, int depth);
  Accumulators allocate();
  void await_turn();
  void pass_turn();
  void run_plain(Reg steps);
  void run_promoted(Reg steps);
  void add_to_sums();
  void await_stage();
  void multiply_stage(bool first);
  void multiply(const std::vector<Reg>& sums, Reg a, Reg b, Reg add);
  void leave_stage();
  void release(Reg barrier);
  void load_ahead();

  KernelBuilder& k_;
  const Config& c_;
  const WgmmaPlan& plan_;
  Pipeline& pipeline_;
  const WgmmaInputs& in_;
  Pipeline::Cursor cursor_;
  Operand a_, b_;
  Reg overwrite_, add_;  // predicates: whether a wgmma leaves its accumulators out of the sum
  Reg released_;         // barrier of the stage that is still being read
  Accumulators accumulators_, sums_;
};

}  // namespace ptxloom::gemm_kernel
