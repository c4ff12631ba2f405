// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <vector>

#include "ptxloom/builder.hpp"
#include "ptxloom/kit/tile_scheduler.hpp"
#include "scaled_gemm/weights/weight_groups.hpp"
#include "scaled_gemm/wgmma/plan.hpp"

// The weights of a warpgroup on their way from a stage to operand A of wgmma: a thread reads words of the
// weight layout, which has just its own elements.
namespace ptxloom::scaled_gemm::wgmma {

struct WeightInputs {
  Reg stages;     ///< shared address of stage 0
  Reg table;      ///< that of the table of the dequantiser, if it has one
  Reg warpgroup;  ///< number of the warpgroup
  Reg thread;     ///< of the warpgroup
  Reg k;          ///< of the problem
  Reg scales;     ///< in global memory (u64)
};

class Weights {
 public:
  /// Fragments of a chunk, in the order of the instructions: four registers for each.
  using Fragments = std::vector<Reg>;

  Weights(KernelBuilder& k, const Problem& problem, const Config& config, const Plan& plan,
          const WeightInputs& in);

  /// Called before the first k-block of a tile.
  void begin(const kit::TileOrigin& tile);
  /// Reads a k-block, the stage at this offset in bytes (u32), that begins at `depth` of k.
  void read(Reg stage, Reg depth);
  /// Makes the fragments of a chunk of a row tile of the warpgroup, in the order of the chunks.
  void make(int row_tile, int chunk, const Fragments& into);
  /// If accumulators are promoted: the factors of the run of k that make() was last called for, for the rows
  /// r and r + 8 of a thread.
  const std::array<Reg, 2>& factors(int row_tile) const;

  Fragments allocate() { return k_.regs(b32, 4 * steps_); }

 private:
  struct RowTile {
    WeightBlock block;
    WeightGroups::State state = {};
  };

  KernelBuilder& k_;
  const Problem& p_;
  const Plan& plan_;
  WeightInputs in_;
  int steps_;                   // instructions of a chunk
  Reg words_, scales_, zeros_;  // addresses in stage 0
  WeightGroups groups_;
  std::vector<RowTile> tiles_;
};

}  // namespace ptxloom::scaled_gemm::wgmma
