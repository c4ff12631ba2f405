// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "ptxloom/builder.hpp"
#include "scaled_gemm/dequantiser.hpp"
#include "scaled_gemm/wgmma/plan.hpp"

// The weights of a warpgroup on their way from a stage to operand A of wgmma: a thread reads words of the
// weight layout, which has just its own elements.
namespace ptxloom::scaled_gemm::wgmma {

struct WeightInputs {
  Reg stages;     ///< shared address of stage 0
  Reg warpgroup;  ///< number of the warpgroup
  Reg thread;     ///< of the warpgroup
  Reg k;          ///< of the problem
};

class Weights {
 public:
  /// Fragments of a chunk, in the order of the instructions: four registers for each.
  using Fragments = std::vector<Reg>;

  Weights(KernelBuilder& k, const Problem& problem, const Config& config, const Plan& plan,
          const WeightInputs& in);

  /// Reads a k-block, the stage at this offset in bytes (u32), that begins at `depth` of k.
  void read(Reg stage, Reg depth);
  /// Makes the fragments of a chunk of a row tile of the warpgroup, in the order of the chunks.
  void make(int row_tile, int chunk, const Fragments& into);

  Fragments allocate() { return k_.regs(b32, 4 * steps_); }

 private:
  struct RowTile {
    std::vector<Reg> words;             // of the k-block, one for each instruction
    std::vector<Reg> scales;            // as read, one register for each group
    std::vector<Reg> zeros;             // the same, of zero points
    Dequantiser::Factors factors = {};  // of the current group
  };
  int group_of(int step) const;  // of the k-block
  void read_scales(RowTile& tile, Reg from, Reg depth);

  KernelBuilder& k_;
  const Problem& p_;
  const Plan& plan_;
  WeightInputs in_;
  int steps_;                   // instructions of a chunk
  Reg words_, scales_, zeros_;  // addresses in stage 0
  Dequantiser dequantiser_;
  std::vector<RowTile> tiles_;
};

}  // namespace ptxloom::scaled_gemm::wgmma
