// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "scaled_gemm/dequantiser.hpp"
#include "scaled_gemm/mma_sync/kernel.hpp"

namespace ptxloom::scaled_gemm::mma_sync {

struct WeightInputs {
  Reg weights, scales, zeros;  ///< pointers, u64; `zeros` only if there are zero points
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

 private:
  struct Block {
    std::vector<Reg> words, scales, zeros;
  };
  struct RowTile {
    Reg number;  // of the matrix, u32
    Block next, current;
    Dequantiser::Factors factors = {};
  };
  Block allocate();
  void load_groups(RowTile& tile, Reg depth);
  int group_of(int step) const;

  KernelBuilder& k_;
  const Problem& p_;
  const Config& c_;
  WeightInputs in_;
  kit::WeightLayout layout_;
  int groups_;  // of a k-block
  Dequantiser dequantiser_;
  std::vector<RowTile> tiles_;
};

}  // namespace ptxloom::scaled_gemm::mma_sync
