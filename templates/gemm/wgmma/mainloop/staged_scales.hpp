// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/epilogue/block_scales.hpp"
#include "gemm/wgmma/plan.hpp"

// Block scales that arrive through the pipeline stages (wgmma/scale_tile.hpp): the producer loads
// them along with the A and B that they belong to, so no warp waits for global memory. Stages that are
// shallower than a scale block repeat its factors.
namespace ptxloom::gemm_kernel::wgmma {

/// Positions of factors in the vectors that TMA sees.
class ScalePlaces {
 public:
  /// `m`, `depth`: of the problem.
  ScalePlaces(KernelBuilder& k, Reg m, Reg depth) : k_(k), m_(m), depth_(depth) {}

  Reg block(Reg depth) { return k_.div(depth, kScaleBlock); }
  Reg blocks() { return block(k_.add(depth_, kScaleBlock - 1)); }
  /// For A's row, and for B's column, in a block of k.
  Reg of_row(Reg row, Reg block) { return k_.fma(block, m_, row); }
  Reg of_column(Reg column, Reg block) { return k_.fma(k_.div(column, kScaleBlock), blocks(), block); }

 private:
  KernelBuilder& k_;
  Reg m_, depth_;
};

/// The producer's side. Copies nothing if there are no block scales.
class ScaleLoads {
 public:
  /// `maps`: generic addresses of the tensor maps.
  ScaleLoads(KernelBuilder& k, const ScaleTile& tile, const ScalePlaces& places,
             const std::map<std::string_view, Reg>& maps)
      : k_(k), tile_(tile), places_(places), maps_(maps) {}

  /// Where a stage's part of A and B starts.
  struct Origin {
    Reg row, column, depth;
  };
  /// Copies to shared memory and signals a barrier.
  void copy(const Origin& origin, Reg to, Reg barrier);

 private:
  KernelBuilder& k_;
  const ScaleTile& tile_;
  ScalePlaces places_;
  const std::map<std::string_view, Reg>& maps_;
};

/// The side of a consumer warpgroup.
class StagedScales {
 public:
  struct Inputs {
    Reg stages;  ///< shared address of stage 0
    Reg row;     ///< of the warp's part in the tile
    Reg column;  ///< of the warpgroup's
    Reg lane;
  };
  StagedScales(KernelBuilder& k, const Config& config, const Plan& plan, const ScalePlaces& places,
               const Inputs& in);

  /// Call before a tile's first stage. `row`: where the tile starts in D; `column`: where the warpgroup's
  /// part starts; `begin`: start of the thread block's part of k.
  void start(Reg row, Reg column, Reg begin);
  /// Reads the factors of the stage whose products are in flight; each call moves on to the next stage.
  void read(Reg stage);
  /// sums += factors * parts
  void add(const kit::Accumulators& parts, const kit::Accumulators& sums) { factors_.add(parts, sums); }

 private:
  KernelBuilder& k_;
  const Config& c_;
  const Plan& plan_;
  ScalePlaces places_;
  RowFactors factors_;
  Reg row_, column_, depth_;        // in D: tile, warpgroup's part; start of the stage along k
  Reg a_of_lane_, b_of_warpgroup_;  // addresses in stage 0, as if boxes started at the exact factor
};

}  // namespace ptxloom::gemm_kernel::wgmma
