// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/config/config.hpp"
#include "gemm/epilogue/terms.hpp"

// The block scales in a stage (epilogue/block_scales.hpp): for A one factor per row of the tile, for B one
// per block of columns. TMA sees them as vectors, because their rows need not start at multiples of 16 bytes.
// Boxes must start at such multiples, so they start up to three factors early. Factors past the end of a row
// belong to the next row and apply to rows that A does not have.
namespace ptxloom::gemm_kernel::wgmma {

/// Of A or of B: consecutive boxes, each a whole number of 128-byte lines of shared memory.
struct ScaleBoxes {
  /// Boxes start at multiples of this many factors.
  static constexpr int kUnit = 4;

  std::uint64_t factors = 0;  ///< in memory; 0: this side has no blocks
  int number = 0;             ///< boxes of a stage
  int width = 0;              ///< factors of one

  bool any() const { return factors > 0; }
  int box_bytes() const { return width * f32.bytes(); }
  int bytes() const { return number * box_bytes(); }
  TensorMap map() const;
};

/// B's boxes follow A's.
struct ScaleTile {
  ScaleTile(const Problem& problem, const Config& config);

  ScaleBoxes a, b;
  bool any() const { return a.any() || b.any(); }
  int bytes() const { return a.bytes() + b.bytes(); }
  TensorMaps maps() const;
};

}  // namespace ptxloom::gemm_kernel::wgmma
