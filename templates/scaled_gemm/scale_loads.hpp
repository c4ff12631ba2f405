// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "ptxloom/builder.hpp"
#include "scaled_gemm/problem.hpp"

// The scales of a warp's part of a tile, loaded from global memory into the registers that mma.sync with
// .block_scale takes them from. A register has the scales of four adjacent groups of a row; the byte selector
// of the instruction chooses one. The fragment map says which row a lane holds.
namespace ptxloom::scaled_gemm {

/// Registers that the loads start from: u32, except for the pointer.
struct ScaleInputs {
  Reg pointer;  // u64
  Reg extent;   // m or n
  Reg count;    // scales of a row
  Reg origin;   // first row of the warp's part, in the matrix
  Reg lane;
};

class ScaleLoads {
 public:
  static constexpr int kPerRegister = 4;

  /// `name`: "SA" or "SB"; `extent`: rows of the warp's part.
  ScaleLoads(KernelBuilder& k, Variant mma, std::string_view name, const Operand& operand, int extent,
             const ScaleInputs& in);

  /// The scales of four groups from `column` (u32) on: a register for each mma tile. Those outside of the
  /// matrix are 1 behind the last group, and those of the last row below it; neither reaches D.
  std::vector<Reg> load(Reg column);

 private:
  Reg word(Reg address, Reg column);
  Reg bytes(Reg address, Reg column);

  KernelBuilder& k_;
  ScaleInputs in_;
  Reg row_, last_;
  int rows_of_mma_ = 0, tiles_ = 0;
  bool words_ = false;  // rows of scales begin at multiples of four bytes
  std::uint32_t one_ = 0;
};

}  // namespace ptxloom::scaled_gemm
