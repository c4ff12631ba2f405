// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/kit/tma_tile.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ptxloom/error.hpp"

namespace ptxloom::kit {
namespace {

constexpr int kLongestRow = 128;  // bytes; the widest swizzle
constexpr int kUnit = 16;         // bytes that stay together
constexpr int kAtomRows = 8;      // of the swizzle pattern

// The widest row such that a few of them make `bytes` or slightly more: copying the excess costs less than
// narrow rows do. If several warpgroups share the tile, each one's part must start at a row.
int covering_row(int bytes, int group_bytes) {
  for (int row = kLongestRow; row > kUnit; row /= 2) {
    const int copied = (bytes + row - 1) / row * row;
    if (group_bytes < bytes ? group_bytes % row == 0 : 3 * copied <= 4 * bytes) return row;
  }
  return kUnit;
}

}  // namespace

TensorSwizzle TmaBox::swizzle() const {
  switch (row_bytes) {
    case 128:
      return TensorSwizzle::by_128_bytes;
    case 64:
      return TensorSwizzle::by_64_bytes;
    case 32:
      return TensorSwizzle::by_32_bytes;
    default:
      return TensorSwizzle::none;
  }
}

// L2 prefetches no more of a row than the box has: what follows belongs to the next k-block, for all rows at
// once.
TensorMap TmaBox::map(Type type, std::uint64_t cols, std::uint64_t lines, std::uint64_t ld,
                      std::uint64_t stride, std::uint64_t batches) const {
  const auto size = static_cast<std::uint64_t>(type.bytes());
  const bool several = stride > 0;
  return {.type = type,
          .rank = several ? 3U : 2U,
          .dims = {cols, lines, several ? batches : 0},
          .strides = {ld * size, stride * size},
          .box = {static_cast<std::uint32_t>(width), static_cast<std::uint32_t>(rows), 1, 1, 1},
          .swizzle = swizzle(),
          .l2 = L2Promotion::to_128_bytes};
}

int dividing_row(int bytes) { return std::min(kLongestRow, bytes & -bytes); }

TmaTile::TmaTile(const MatrixOperand& matrix, int extent, int part, int depth, int sharing)
    : matrix_(matrix), sharing_(sharing) {
  const int size = matrix.type.bytes();
  box_.row_bytes = transposed() ? covering_row(extent * size, part * size) : dividing_row(depth * size);
  box_.width = box_.row_bytes / size;
  box_.rows = transposed() ? depth : extent;
  boxes_ = ((transposed() ? extent : depth) + box_.width - 1) / box_.width;
  if (sharing < 1 || box_.rows % sharing != 0)
    throw Error(ErrorKind::usage, "bad-tile",
                fmt::format("boxes of {} rows that {} thread blocks load", box_.rows, sharing),
                "each thread block loads the same number of rows");
}

// TMA would round tf32; wgmma ignores the low bits.
TensorMap TmaTile::map(std::uint64_t batches) const {
  TmaBox copied = box_;
  copied.rows = loaded_rows();
  return copied.map(matrix_.type == tf32 ? f32 : matrix_.type, matrix_.cols, matrix_.rows, matrix_.ld,
                    matrix_.stride, batches);
}

std::uint64_t TmaTile::descriptor() const {
  const int atom = kAtomRows * box_.row_bytes;
  int leading = box_.bytes(), stride = atom;  // from box to box; from atom to atom within a box
  // Without swizzling wgmma swaps the two names.
  if (box_.row_bytes == kUnit) std::swap(leading, stride);
  std::uint64_t mode = 0;
  if (box_.row_bytes == 128) mode = 1;
  if (box_.row_bytes == 64) mode = 2;
  if (box_.row_bytes == 32) mode = 3;
  const auto field = [](int bytes, int low) { return static_cast<std::uint64_t>(bytes / kUnit) << low; };
  return field(leading, 16) | field(stride, 32) | mode << 62;
}

int TmaTile::offset(int extent, int depth) const {
  const int across = transposed() ? extent : depth, along = transposed() ? depth : extent;
  return across / box_.width * box_.bytes() + across % box_.width * matrix_.type.bytes() +
         along * box_.row_bytes;
}

TmaTileLoads::TmaTileLoads(KernelBuilder& k, int sharing) : k_(k) {
  if (sharing == 1) return;
  rank_ = k.special("cluster_ctarank");
  all_ = k.mov(u16, (std::int64_t{1} << sharing) - 1);
}

// If thread blocks share the tile, each loads its rows of the boxes to all of them.
void TmaTileLoads::load(const TmaTile& tile, Reg map, const TmaTileOrigin& origin, Reg to, Reg barrier,
                        std::optional<Reg> policy) {
  const bool shared = tile.sharing() > 1;
  Reg extent = origin.extent, depth = origin.depth;
  if (shared) {
    Reg& along_rows = tile.transposed() ? depth : extent;
    along_rows = k_.fma(rank_, tile.loaded_rows(), along_rows);
    to = k_.fma(rank_, tile.loaded_rows() * tile.box().row_bytes, to);
  }
  const auto moved = [&](Reg from, int by) { return by == 0 ? from : k_.add(from, by); };
  BulkOptions options{.multicast = {}, .policy = policy};
  if (shared) options.multicast = all_;
  for (int box = 0; box < tile.boxes(); ++box) {
    std::vector<Reg> at{moved(depth, tile.box_depth(box)), moved(extent, tile.box_extent(box))};
    if (tile.transposed()) std::swap(at[0], at[1]);  // the contiguous dimension first
    if (tile.of_batches()) at.push_back(*origin.batch);
    tma_load(k_, map, at, k_.at(to, box * tile.box().bytes()), barrier, options);
  }
}

}  // namespace ptxloom::kit
