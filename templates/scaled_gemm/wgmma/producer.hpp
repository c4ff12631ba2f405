// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptxloom/kit/params.hpp"
#include "ptxloom/kit/pipeline.hpp"
#include "ptxloom/kit/tile_scheduler.hpp"
#include "scaled_gemm/wgmma/plan.hpp"

// The producer: one thread that fills the stages as soon as the consumers have released them, by TMA loads of
// activations, and bulk copies of weights and scales, which are contiguous in the weight layout. Activations
// outside the matrix arrive as zeros. Weights of a row tile that does not exist are those of the last one.
namespace ptxloom::scaled_gemm::wgmma {

class Producer {
 public:
  Producer(KernelBuilder& k, const Problem& problem, const Config& config, const Plan& plan,
           kit::Pipeline& pipeline, const kit::ParamRegs& in, Reg stages);

  /// Loads all tiles of this thread block, or its parts of them.
  void run(kit::TileScheduler& tiles);

 private:
  void fill(const kit::TileOrigin& tile, Reg depth);
  Reg row_tile(const kit::TileOrigin& tile, int number);
  void copy(std::string_view name, int bytes, Reg from, Reg stage, int number, Reg full);

  KernelBuilder& k_;
  const Problem& p_;
  const Config& c_;
  const Plan& plan_;
  kit::Pipeline& pipeline_;
  const kit::ParamRegs& in_;
  Reg stages_;
  kit::TmaTileLoads activations_;
  kit::Pipeline::Cursor cursor_;
  std::optional<Reg> passing_;  // cache policy of weights that are read once
};

}  // namespace ptxloom::scaled_gemm::wgmma
