// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <vector>

#include "ptxloom/kit/accumulators.hpp"
#include "ptxloom/kit/pipeline.hpp"
#include "ptxloom/kit/tile_scheduler.hpp"
#include "ptxloom/kit/wgmma.hpp"
#include "sparse_gemm/wgmma/plan.hpp"

// The main loop of a consumer warpgroup. A group of wgmma has the products of a chunk of k, and one is in
// flight while the next one is issued. The threads load their words of metadata straight from global memory,
// a k-block ahead; what groups in flight read is in two sets of registers, for even and odd chunks.
namespace ptxloom::sparse_gemm::wgmma {

struct MainLoopInputs {
  Reg stages;     ///< shared address of stage 0
  Reg metadata;   ///< their address, u64
  Reg warpgroup;  ///< number of the warpgroup
  Reg thread;     ///< of the warpgroup
};

class MainLoop {
 public:
  MainLoop(KernelBuilder& k, const Problem& problem, const Config& config, const Plan& plan,
           kit::Pipeline& pipeline, const MainLoopInputs& in);

  /// The products of a tile. No wgmma is in flight when it returns.
  void run(const kit::TilePortion& portion);
  const kit::Accumulators& accumulators() const { return accumulators_; }

 private:
  void start(const kit::TilePortion& portion);
  void load(int chunk);
  void multiply_chunk(int chunk, Reg next, Reg end, const std::array<Reg, 2>& low);
  void release();

  KernelBuilder& k_;
  const Config& c_;
  const Plan& plan_;
  kit::SparseLayout layout_;
  int depth_, chunks_, units_;  // elements of k of an instruction; chunks of a k-block, and their units
  kit::Pipeline& pipeline_;
  MainLoopInputs in_;
  Variant mma_;
  kit::Pipeline::Cursor cursor_;
  kit::WgmmaOperand values_, activations_;
  kit::Accumulators accumulators_;
  std::vector<Reg> words_from_;  // of each row tile: address of the metadata that are loaded next
  /// Metadata of a chunk: [unit][row tile].
  using Words = std::vector<std::vector<Reg>>;
  std::vector<Words> next_, used_;  // of each chunk of the next k-block; of even and odd chunks in flight
  Reg add_;                         // predicate that holds
  Reg releases_;                    // predicate: this lane releases the stage before
  Reg released_;                    // its barrier
};

}  // namespace ptxloom::sparse_gemm::wgmma
