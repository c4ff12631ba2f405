// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/wgmma/mainloop/inline_load.hpp"
#include "ptxloom/kit/wgmma.hpp"

// The main loop of a consumer warpgroup: accumulates its rows and columns of a tile of D over the stages of
// the pipeline. One wgmma group is always in flight: meanwhile the warpgroup waits for the next stage and
// issues its products, and then releases the previous stage. It skips the stages of tiles that belong to the
// other warpgroup. If accumulators are promoted, it waits for the products of each stage and adds them to f32
// accumulators, while another warpgroup multiplies. Without a producer warp it refills one stage per
// iteration, while products are in flight (wgmma/mainloop/inline_load.hpp).
namespace ptxloom::gemm_kernel::wgmma {

/// For two warpgroups with a tile each. They take turns and must not mix their products: a stage's barrier
/// cannot tell apart cursors that are two rounds of the pipeline apart.
struct Turn {
  Reg number;          ///< number of the warpgroup: 0 has the first tile
  Reg stages;          ///< per tile
  Reg barrier, other;  ///< numbers of the named barriers: its own and the other warpgroup's
};

struct MainLoopInputs {
  Reg stages;                      ///< shared address of stage 0
  Reg row, column;                 ///< of the warpgroup's part of the tile; uniform across the warpgroup
  std::optional<Turn> turn;        ///< if the warpgroup computes every other tile
  Reg releases;                    ///< predicate: this thread releases stages for its consumer
  StagedScales* scales = nullptr;  ///< if the accumulators of a stage are promoted with block scales
  InlineLoads* loads = nullptr;    ///< if there is no producer warp
};

class MainLoop {
 public:
  MainLoop(KernelBuilder& k, const Config& config, const Plan& plan, kit::Pipeline& pipeline,
           const MainLoopInputs& in);

  /// The products of one tile, over this much of k. No wgmma is in flight when it returns.
  void run(Reg depth);
  const kit::Accumulators& accumulators() const { return plan_.promotes ? promoted_ : accumulators_; }

 private:
  kit::Accumulators allocate();
  void await_turn();
  void pass_turn();
  void run_plain(Reg steps);
  void run_promoted(Reg steps);
  void promote();
  void await_stage();
  void multiply_stage(bool first);
  void leave_stage();
  void release(Reg barrier);
  void load_ahead();

  KernelBuilder& k_;
  const Config& c_;
  const Plan& plan_;
  kit::Pipeline& pipeline_;
  const MainLoopInputs& in_;
  kit::Pipeline::Cursor cursor_;
  kit::WgmmaOperand a_, b_;  // this warpgroup's parts
  Reg overwrite_, add_;      // predicates: whether a wgmma overwrites its accumulators or adds to them
  Reg released_;             // barrier of the stage that is still being read
  kit::Accumulators accumulators_, promoted_;
};

}  // namespace ptxloom::gemm_kernel::wgmma
