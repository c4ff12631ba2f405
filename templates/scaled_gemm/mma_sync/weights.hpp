// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "scaled_gemm/mma_sync/kernel.hpp"
#include "scaled_gemm/weights/weight_groups.hpp"

namespace ptxloom::scaled_gemm::mma_sync {

struct WeightInputs {
  Reg weights, scales, zeros;  ///< pointers, u64; `zeros` only if there are zero points
  Reg table;                   ///< shared address of the table of the dequantiser, if it has one
  Reg row_tile;                ///< first of the group of warps, u32
  std::optional<Reg> batch;    ///< number of the matrix of weights, if there are several
  Reg thread;                  ///< of the group
  Reg k;                       ///< of the problem
};

/// The weights of a group of warps: a k-block in registers, and the next one on its way there.
class Weights {
 public:
  Weights(KernelBuilder& k, const Problem& problem, const Config& config, const WeightInputs& in);

  /// Loads the k-block that begins at `depth`, which is below k.
  void load(Reg depth);
  /// What load() has loaded becomes the k-block that make() takes.
  void advance();
  /// The four registers of the fragment of an instruction of a row tile, in the order of the steps.
  std::vector<Reg> make(int row_tile, int step);
  /// If accumulators are promoted: the factors of the run of k that make() was last called for, for the rows
  /// r and r + 8 of a thread.
  const std::array<Reg, 2>& factors(int row_tile) const;

 private:
  struct RowTile {
    Reg number;  // of the matrix, u32
    WeightBlock next, current;
    WeightGroups::State state = {};
  };
  void load_groups(RowTile& tile, Reg depth);

  KernelBuilder& k_;
  const Problem& p_;
  WeightInputs in_;
  kit::WeightLayout layout_;
  WeightGroups groups_;
  std::vector<RowTile> tiles_;
};

}  // namespace ptxloom::scaled_gemm::mma_sync
