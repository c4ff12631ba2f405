// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>

#include "gemm/config/config.hpp"
#include "gemm/epilogue/terms.hpp"

// Block scales: an f32 factor of A for each row and each kScaleBlock of k, and of B for each kScaleBlock
// columns and each kScaleBlock of k. They belong in the main loop: the product of one scale block is scaled
// as it is added to the accumulators. A warp's columns lie within one scale block, so its accumulators have
// one factor per row. Here warps read the factors of a stage from global memory while the two stages before
// it are multiplied; with wgmma the factors arrive with the stage (wgmma/mainloop/staged_scales.hpp).
namespace ptxloom::gemm_kernel {

/// What a warp's accumulators are multiplied by: one factor for each of a lane's rows, or one for all.
class RowFactors {
 public:
  /// `tiles`: mma tiles along m in the warp's part.
  RowFactors(KernelBuilder& k, const Config& config, int tiles, kit::FragmentOrder rows, bool of_rows);

  /// By the distance of a row from the lane's first row.
  const std::map<int, Reg>& all() const { return factors_; }
  /// sums += factors * parts
  void add(const kit::Accumulators& parts, const kit::Accumulators& sums);

 private:
  int row_of(int tile, int reg) const;

  KernelBuilder& k_;
  Layout map_;  // of an mma's accumulators
  int mma_m_;
  kit::FragmentOrder order_;
  bool of_rows_;
  std::map<int, Reg> factors_;
};

struct BlockScaleInputs {
  Reg m, n, depth;  ///< of the problem
  Reg lane;
  int tiles = 1;  ///< of the mma along m, in a warp's part
  kit::FragmentOrder rows = {};
};

class BlockScales {
 public:
  /// For a problem with block scales on one side or both.
  BlockScales(KernelBuilder& k, const Config& config, const TermInputs& terms, const BlockScaleInputs& in);

  /// Reads the first factors of a tile. `row`, `column`: where the warp's part of D starts; `begin`: where
  /// the thread block's part of k starts.
  void start(Reg row, Reg column, Reg begin);
  /// sums += factors * parts for one stage, then moves on to the factors of the next.
  void add(const kit::Accumulators& parts, const kit::Accumulators& sums);

 private:
  struct Row {
    Reg inside;  ///< predicate: it lies in A
    Reg read;    ///< factor of A of the next stage, on its way
  };
  void advance();
  void read();

  KernelBuilder& k_;
  const Config& c_;
  BlockScaleInputs in_;
  std::optional<Reg> a_, b_;   // addresses of the scales, where there are any
  Reg last_;                   // block of k
  Reg depth_;                  // start of the stage whose factors are read
  Reg a_of_lane_, b_of_warp_;  // addresses for the lane's first row and for the warp's columns
  RowFactors factors_;         // for the accumulators of this stage
  std::map<int, Row> rows_;    // by distance from the lane's first row
  Reg read_b_;
};

}  // namespace ptxloom::gemm_kernel
