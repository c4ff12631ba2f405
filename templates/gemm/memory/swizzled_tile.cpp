// SPDX-License-Identifier: Apache-2.0
#include "gemm/memory/swizzled_tile.hpp"

#include <algorithm>

namespace ptxloom::gemm_kernel {

SwizzledTile::SwizzledTile(int rows, int row_bytes, std::vector<SwizzleBit> swizzle)
    : rows_(rows),
      row_bytes_(row_bytes),
      chunk_mask_(std::min(row_bytes / 16, 8) - 1),
      swizzle_(std::move(swizzle)) {}

int SwizzledTile::flips(int row) const {
  int flipped = 0;
  for (const SwizzleBit& bit : swizzle_) flipped ^= ((row >> bit.from) & 1) << bit.to;
  return flipped;
}

Distance SwizzledTile::distance(int rows, int bytes) const {
  const int flipped_bytes = chunk_mask_ << 4;
  return {(flips(rows) << 4) ^ (bytes & flipped_bytes), rows * row_bytes_ + (bytes & ~flipped_bytes)};
}

Reg SwizzledTile::address(KernelBuilder& k, Reg row, Reg byte) const {
  Reg swizzled = byte;
  // Adjacent bits that move by the same amount are handled together.
  for (std::size_t i = 0; i < swizzle_.size();) {
    int mask = 0;
    const int shift = swizzle_[i].to + 4 - swizzle_[i].from;
    for (; i < swizzle_.size() && swizzle_[i].to + 4 - swizzle_[i].from == shift; ++i)
      mask |= 1 << swizzle_[i].from;
    const Reg bits = k.and_(row, mask);
    swizzled = k.xor_(swizzled, shift >= 0 ? k.shl(bits, shift) : k.shr(bits, -shift));
  }
  return k.fma(row, row_bytes_, swizzled);
}

Path path_of(const Matrix& matrix) {
  if (matrix.type == f64) return Path::scalar;
  if (matrix.k_contiguous) return Path::ldmatrix;
  if (matrix.type.bits == 16) return Path::ldmatrix_trans;
  return matrix.type.bits == 8 ? Path::ldmatrix_bytes : Path::scalar;
}

namespace {

// The rows that a warp reads at once decide which row bits must move the chunks. Rows shorter than 128 bytes,
// the width of all banks, share a line: the lowest row bits select the position within it, and only the bits
// above them move chunks.
std::vector<SwizzleBit> swizzle_of(Path path, int row_bytes) {
  const bool whole_line = row_bytes >= 128;
  switch (path) {
    case Path::scalar:  // 4 rows of 32 bytes
      if (whole_line) return {{0, 1}, {1, 2}};
      return {{1, 1}};
    case Path::ldmatrix_bytes:  // rows 0 1 4 5 8 9 12 13, one chunk each
      if (whole_line) return {{0, 0}, {2, 1}, {3, 2}};
      return {{2, 0}, {3, 1}};
    default:
      break;  // 8 rows, one chunk each
  }
  if (whole_line) return {{0, 0}, {1, 1}, {2, 2}};
  if (row_bytes == 64) return {{1, 0}, {2, 1}};
  return {{2, 0}};
}

}  // namespace

SwizzledTile operand_tile(const Matrix& matrix, int extent, int tile_k) {
  const int rows = matrix.k_contiguous ? extent : tile_k;
  const int row_bytes = (matrix.k_contiguous ? tile_k : extent) * matrix.type.bytes();
  return {rows, row_bytes, swizzle_of(path_of(matrix), row_bytes)};
}

}  // namespace ptxloom::gemm_kernel
