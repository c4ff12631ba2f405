// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>

#include "result.hpp"

// Scales of blocks: f32 factors of A for each row and each kScaleBlock of k, of B for each kScaleBlock
// columns and as much of k. They belong into the main loop: what a warp has multiplied of one block is scaled
// while it joins the sums of those before. A warp's columns lie in one block, so that its sums have a factor
// for each row. Here warps read the factors of a stage from global memory while two stages before it are
// multiplied; with wgmma they come with the stage (staged_scales.hpp).
namespace ptxloom::gemm_kernel {

/// What a warp's sums are multiplied by: a factor for each of a lane's rows, or one for all.
class RowFactors {
 public:
  /// `tiles`: of the mma along m, in a warp's part.
  RowFactors(KernelBuilder& k, const Config& config, int tiles, Order rows, bool of_rows);

  /// By a row's distance from the lane's first.
  const std::map<int, Reg>& all() const { return factors_; }
  /// sums += factors * parts
  void add(const Accumulators& parts, const Accumulators& sums);

 private:
  int row_of(int tile, int reg) const;

  KernelBuilder& k_;
  Layout map_;  // of an mma's sums
  int mma_m_;
  Order order_;
  bool of_rows_;
  std::map<int, Reg> factors_;
};

struct BlockScaleInputs {
  Reg m, n, depth;  ///< of the problem
  Reg lane;
  int tiles = 1;  ///< of the mma along m, in a warp's part
  Order rows = {};
};

class BlockScales {
 public:
  /// Of a problem that has some, on one side or on both.
  BlockScales(KernelBuilder& k, const Config& config, const FunctionInputs& function,
              const BlockScaleInputs& in);

  /// Reads the first factors of a tile; `row` and `column`: where of D the warp's part begins; `begin`: where
  /// the block's part of k does.
  void start(Reg row, Reg column, Reg begin);
  /// sums += factors * parts, of one stage; then on to the factors of the next.
  void add(const Accumulators& parts, const Accumulators& sums);

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
  Reg depth_;                  // where the stage begins whose factors are read
  Reg a_of_lane_, b_of_warp_;  // addresses of the first of the lane's rows and of the warp's columns
  RowFactors factors_;         // of the sums of this stage
  std::map<int, Row> rows_;    // by distance from the lane's first
  Reg read_b_;
};

}  // namespace ptxloom::gemm_kernel
