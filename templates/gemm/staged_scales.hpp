// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "block_scales.hpp"
#include "wgmma_plan.hpp"

// Scales of blocks by way of the pipeline's stages (scale_tile.hpp): the thread that loads brings them beside
// the A and B that they belong to, so that no warp waits for global memory. Stages of less than a block's
// part of k have the same ones again.
namespace ptxloom::gemm_kernel {

/// Where factors stand in the vectors that tensor copies take scales for.
class ScalePlaces {
 public:
  /// `m`, `depth`: of the problem.
  ScalePlaces(KernelBuilder& k, Reg m, Reg depth) : k_(k), m_(m), depth_(depth) {}

  Reg block(Reg depth) { return k_.div(depth, kScaleBlock); }
  Reg blocks() { return block(k_.add(depth_, kScaleBlock - 1)); }
  /// Of A's row, and of B's column, in a block of k.
  Reg of_row(Reg row, Reg block) { return k_.fma(block, m_, row); }
  Reg of_column(Reg column, Reg block) { return k_.fma(k_.div(column, kScaleBlock), blocks(), block); }

 private:
  KernelBuilder& k_;
  Reg m_, depth_;
};

/// The side of the thread that loads. Copies nothing where no block has scales.
class ScaleCopies {
 public:
  /// `maps`: generic addresses.
  ScaleCopies(KernelBuilder& k, const ScaleTile& tile, const ScalePlaces& places,
              const std::map<std::string_view, Reg>& maps)
      : k_(k), tile_(tile), places_(places), maps_(maps) {}

  /// Where a stage's part of A and B begins.
  struct Origin {
    Reg row, column, depth;
  };
  /// To shared memory, counted on a barrier.
  void copy(const Origin& origin, Reg to, Reg barrier);

 private:
  KernelBuilder& k_;
  const ScaleTile& tile_;
  ScalePlaces places_;
  const std::map<std::string_view, Reg>& maps_;
};

/// The side of a warpgroup that multiplies.
class StagedScales {
 public:
  struct Inputs {
    Reg stages;  ///< shared address of stage 0
    Reg row;     ///< of the warp's part in the tile
    Reg column;  ///< of the warpgroup's
    Reg lane;
  };
  StagedScales(KernelBuilder& k, const Config& config, const WgmmaPlan& plan, const ScalePlaces& places,
               const Inputs& in);

  /// Before a tile's first stage; `row`: where of D the tile begins, `column`: the warpgroup's part; `begin`:
  /// the block's part of k.
  void start(Reg row, Reg column, Reg begin);
  /// The factors of the stage whose products are under way; the next time those of the next one.
  void read(Reg stage);
  /// sums += factors * parts
  void add(const Accumulators& parts, const Accumulators& sums) { factors_.add(parts, sums); }

 private:
  KernelBuilder& k_;
  const Config& c_;
  const WgmmaPlan& plan_;
  ScalePlaces places_;
  RowFactors factors_;
  Reg row_, column_, depth_;    // where in D the tile, the warpgroup's part, and in k the stage begins
  Reg a_of_lane_, b_of_group_;  // addresses in stage 0, if boxes began where they should
};

}  // namespace ptxloom::gemm_kernel
