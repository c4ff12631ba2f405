// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/kit/swizzled_tile.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kit/integers.hpp"
#include "ptxloom/error.hpp"

namespace ptxloom::kit {
namespace {

constexpr int kChunk = 16, kChunksOfLine = 8;

}  // namespace

// Rows that share a line of 128 bytes are in different places of it by themselves: only the row bits above
// those move chunks.
std::vector<SwizzleBit> matrix_swizzle(int row_bytes) {
  if (row_bytes >= 128) return {{0, 0}, {1, 1}, {2, 2}};
  if (row_bytes == 64) return {{1, 0}, {2, 1}};
  if (row_bytes == 32) return {{2, 0}};
  return {};
}

SwizzledTile::SwizzledTile(int rows, int row_bytes, std::vector<SwizzleBit> swizzle)
    : rows_(rows),
      row_bytes_(row_bytes),
      chunk_mask_(std::min(row_bytes / kChunk, kChunksOfLine) - 1),
      swizzle_(std::move(swizzle)) {
  const auto moves_inside = [&](SwizzleBit bit) { return bit.to >= 0 && (1 << bit.to) <= chunk_mask_; };
  if (row_bytes < kChunk || !power_of_two(row_bytes) || !std::ranges::all_of(swizzle_, moves_inside))
    throw Error(ErrorKind::usage, "bad-tile", fmt::format("a tile with rows of {} bytes", row_bytes),
                "a row is a power of two of bytes, at least 16, and its chunks stay in the row and in their "
                "128 bytes");
}

int SwizzledTile::flips(int row) const {
  int flipped = 0;
  for (const SwizzleBit& bit : swizzle_) flipped ^= ((row >> bit.from) & 1) << bit.to;
  return flipped;
}

Distance SwizzledTile::distance(int rows, int bytes) const {
  const int flipped_bytes = chunk_mask_ << 4;
  return {(flips(rows) << 4) ^ (bytes & flipped_bytes), rows * row_bytes_ + (bytes & ~flipped_bytes)};
}

Address SwizzledTile::at(KernelBuilder& k, Reg base, int rows, int bytes) const {
  const Distance there = distance(rows, bytes);
  return KernelBuilder::at(there.flip == 0 ? base : k.xor_(base, there.flip), there.add);
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

}  // namespace ptxloom::kit
