// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ptxloom/kit/swizzled_tile.hpp"
#include "scaled_gemm/problem/problem.hpp"

// A tile of A or B on its way from elements with scales to bf16, both in shared memory. A chunk is 16
// elements of a row, which have a scale in common: 16 bytes or, of 4 bits, 8, and 32 of bf16. Each becomes
// f32, is multiplied by its scale in f32, if there is one, and rounded to bf16. Those of 4 bits become bf16
// at once, and are multiplied in pairs, with the same result: their products are rounded once there, too. The
// scales of the next k-block are loaded while one is multiplied.
namespace ptxloom::scaled_gemm::dequantize {

inline constexpr int kChunk = 16;  ///< elements

/// What is converted: rows of a tile, and elements of k.
struct HalvesShape {
  int rows = 0, depth = 0, threads = 0;
};

/// Registers that the conversion starts from: u32, except for the pointer.
struct HalvesInputs {
  Reg scales;  // u64
  Reg extent;  // m or n
  Reg count;   // scales of a row
  Reg origin;  // first row of the tile, in the matrix
  Reg packed;  // shared address of the elements in stage 0
  Reg halves;  // that of the bf16
  Reg thread;
};

/// The tile as it lies in global memory, and as bf16.
///@{
kit::SwizzledTile packed_tile(const Operand& operand, int rows, int depth);
kit::SwizzledTile halves_tile(int rows, int depth);
///@}

class Halves {
 public:
  Halves(KernelBuilder& k, const Operand& operand, const HalvesShape& shape, const HalvesInputs& in);

  /// Loads the scales of this thread's chunks of the next k-block.
  void load_scales();
  /// Converts the k-block whose scales have been loaded, from the stage at this offset to the buffer of this
  /// number (u32).
  void convert(Reg stage, Reg buffer);

 private:
  void convert_chunk(int number, Reg packed, Reg halves);
  std::vector<Reg> pairs_of(std::span<const Reg> words, std::optional<Reg> scale);
  std::vector<Reg> pairs_of_e2m1(std::span<const Reg> words, std::optional<Reg> scale);
  Reg scale(Reg code);

  KernelBuilder& k_;
  const Operand& operand_;
  HalvesShape shape_;
  HalvesInputs in_;
  kit::SwizzledTile packed_, halves_;
  int chunks_;                 // of this thread
  int row_step_;               // rows between them
  Reg row_, column_;           // of the first one: in the matrix; the number of its next scale
  Reg from_, to_;              // addresses of the first one
  std::optional<Reg> inside_;  // predicate: this thread has a chunk
  std::vector<Reg> scales_;    // codes
};

}  // namespace ptxloom::scaled_gemm::dequantize
