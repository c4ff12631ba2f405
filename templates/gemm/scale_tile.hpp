// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config.hpp"
#include "function.hpp"

// What a stage holds of scales of blocks (block_scales.hpp): of A the factors of the tile's rows, of B one
// for each of its blocks of columns. To tensor copies they are vectors, since no row of theirs need begin at
// a multiple of 16 bytes. Boxes must: they begin up to three factors early. What they bring behind a row are
// factors of the next one, for rows that A has not.
namespace ptxloom::gemm_kernel {

/// Of A, or of B: boxes one behind the other, of whole lines of 128 bytes of shared memory.
struct ScaleBoxes {
  /// Factors that boxes begin at multiples of.
  static constexpr int kUnit = 4;

  std::uint64_t factors = 0;  ///< in memory; 0: this side has no blocks
  int number = 0;             ///< boxes of a stage
  int width = 0;              ///< factors of one

  bool any() const { return factors > 0; }
  int box_bytes() const { return width * f32.bytes(); }
  int bytes() const { return number * box_bytes(); }
  TensorMap map() const;
};

/// Of B behind those of A.
struct ScaleTile {
  ScaleTile(const Problem& problem, const Config& config);

  ScaleBoxes a, b;
  bool any() const { return a.any() || b.any(); }
  int bytes() const { return a.bytes() + b.bytes(); }
  TensorMaps maps() const;
};

}  // namespace ptxloom::gemm_kernel
