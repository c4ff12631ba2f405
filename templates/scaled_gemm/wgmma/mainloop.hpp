// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "ptxloom/kit/pipeline.hpp"
#include "ptxloom/kit/tile_scheduler.hpp"
#include "ptxloom/kit/wgmma.hpp"
#include "scaled_gemm/wgmma/weights.hpp"

// The main loop of a consumer warpgroup: while the products of a chunk of k are in flight, the fragments of
// the next one are made in other registers. Each warp releases a stage for itself, since its lanes have read
// it. If accumulators are promoted, those of a run of k are added to sums once the fragments of the first
// chunk of the next run are made. Plain sums are accumulated over all of k, and multiplied by their factors
// in the end.
namespace ptxloom::scaled_gemm::wgmma {

struct MainLoopInputs {
  Reg stages;  ///< shared address of stage 0
  Reg lane;
};

class MainLoop {
 public:
  MainLoop(KernelBuilder& k, const Problem& problem, const Config& config, const Plan& plan,
           kit::Pipeline& pipeline, Weights& weights, const MainLoopInputs& in);

  /// The products of a tile over a part of k, possibly of none. No wgmma is in flight when it returns.
  void run(const kit::TileOrigin& origin, const kit::DepthPart& depth);
  const kit::Accumulators& accumulators() const { return scales() ? sums_ : accumulators_; }

 private:
  void multiply_block(Reg depth);
  void multiply_chunk(int chunk, Reg low);
  void promote();
  void scale_sums();
  void keep_factors();
  void release();
  bool promotes() const { return run_ != 0; }
  bool scales() const { return !factors_.empty(); }
  bool begins_run(int chunk) const { return promotes() && chunk * chunk_depth_ % run_ == 0; }

  KernelBuilder& k_;
  const Config& c_;
  const Plan& plan_;
  int depth_, chunk_depth_;  // elements of k of an instruction, and of a chunk
  int run_;                  // elements of k whose products are promoted at once; 0: they are not
  kit::Pipeline& pipeline_;
  Weights& weights_;
  MainLoopInputs in_;
  Variant mma_;
  kit::Pipeline::Cursor cursor_;
  kit::WgmmaOperand activations_;
  kit::Accumulators accumulators_, sums_;
  std::vector<std::array<Reg, 2>> factors_;       // of each row tile: of the run in flight, or of all of k
  std::vector<Weights::Fragments> fragments_[2];  // of each row tile, for even and odd chunks
  Reg add_, anew_;                                // predicates, one that holds and one that does not
  Reg releases_;                                  // predicate: this lane releases the stage before
  Reg released_;                                  // its barrier
};

/// The form of an instruction that has A in registers.
Variant with_a_in_registers(const Specs& specs, const std::string& opcode);

}  // namespace ptxloom::scaled_gemm::wgmma
