// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "ptxloom/builder.hpp"
#include "scaled_gemm/problem/problem.hpp"

// The scales of a warp's part of a tile, loaded from global memory into the registers that mma.sync with
// .block_scale takes them from. A register has the scales of four adjacent groups of a row. An instruction
// takes 1, 2 or all 4 of them; its byte selector chooses the first. The fragment map says which row a lane
// holds.
namespace ptxloom::scaled_gemm::block_scale {

/// Registers that the loads start from: u32, except for the pointer.
struct ScaleInputs {
  Reg pointer;  // u64
  Reg extent;   // m or n
  Reg count;    // scales of a row
  Reg origin;   // first row of the warp's part, in the matrix
  Reg lane;
};

/// What is loaded for a k-block.
struct ScaleShape {
  int rows = 0;    ///< of the warp's part
  int groups = 0;  ///< of a row: a multiple of ScaleLoads::kPerRegister
};

class ScaleLoads {
 public:
  static constexpr int kPerRegister = 4;

  /// `name`: "SA" or "SB".
  ScaleLoads(KernelBuilder& k, Variant mma, std::string_view name, const Operand& operand,
             const ScaleShape& shape, const ScaleInputs& in);

  int groups() const { return groups_; }
  /// The scales of a k-block's groups from `column` (u32) on. Groups behind the last one have the scale 1.
  /// Rows below the last one have its scales. Neither reaches D.
  std::vector<Reg> load(Reg column);
  /// Which register of load() has this group of an mma tile.
  std::size_t index(std::size_t tile, int group) const;

 private:
  Reg word(Reg address, Reg column, int group);
  Reg bytes(Reg address, Reg column, int group);

  KernelBuilder& k_;
  ScaleInputs in_;
  Reg row_, last_;
  int rows_of_mma_ = 0, tiles_ = 0, groups_ = 0;
  bool words_ = false;  // rows of scales begin at multiples of four bytes
};

}  // namespace ptxloom::scaled_gemm::block_scale
