// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/kit/sparse_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "ptxloom/error.hpp"

namespace ptxloom::kit {
namespace {

constexpr std::uint64_t kRows = SparseLayout::kTileRows, kGroups = SparseLayout::kTileGroups;
constexpr int kWordBytes = 4, kGroupBits = 4;
constexpr unsigned kSecondOfPair = 14;  // the only element of tf32 that is stored is the second

std::uint64_t units_in(std::uint64_t extent, std::uint64_t size) { return (extent + size - 1) / size; }

std::uint64_t filled_depth(const SparseLayout& layout) {
  const auto unit = static_cast<std::uint64_t>(layout.depth_unit());
  return units_in(layout.depth(), unit) * unit;
}

void require_size(std::uint64_t have, std::uint64_t need, const char* what) {
  if (have < need)
    throw Error(ErrorKind::usage, "buffer-too-small",
                fmt::format("the {} have {} bytes, and {} are needed", what, have, need),
                "give whole matrices: SparseLayout says how large the results are");
}

/// Whether all bits but the sign are zero; integers in two's complement have none apart.
bool is_zero(Type type, std::span<const std::byte> element) {
  const bool signed_zero = type != s8 && type != u8;
  for (std::size_t i = 0; i < element.size(); ++i) {
    const bool top = i + 1 == element.size();
    if ((element[i] & (top && signed_zero ? std::byte{0x7f} : std::byte{0xff})) != std::byte{0}) return false;
  }
  return true;
}

/// Which elements of a group are stored.
struct Choice {
  std::array<int, 2> positions = {0, 1};
  int count = 2;  // 1 of tf32
  unsigned bits() const {
    if (count == 1)
      return positions[0] == 0 ? std::to_integer<unsigned>(SparseLayout::kFirst) : kSecondOfPair;
    return static_cast<unsigned>(positions[0] | positions[1] << 2);
  }
};

Error not_sparse(std::uint64_t row, std::uint64_t column, int group, int count) {
  return Error(ErrorKind::usage, "not-sparse",
               fmt::format("row {}, columns {} to {}: {} elements are not zero", row, column,
                           column + static_cast<std::uint64_t>(group) - 1, count),
               fmt::format("at most {} of {} may be: set the others to zero first", group / 2, group));
}

/// The elements that are not zero, and as many zeros as it takes, in order. `nonzero`: a bit for each.
Choice choose(unsigned nonzero, int group) {
  Choice choice{.count = group / 2};
  unsigned chosen = nonzero;
  for (int i = 0; i < group && std::popcount(chosen) < choice.count; ++i) chosen |= 1U << i;
  for (std::size_t i = 0; i < static_cast<std::size_t>(choice.count); ++i, chosen &= chosen - 1)
    choice.positions.at(i) = std::countr_zero(chosen);
  return choice;
}

}  // namespace

SparseLayout::SparseLayout(Type element, std::uint64_t rows, std::uint64_t depth)
    : element_(element), rows_(rows), depth_(depth) {
  constexpr std::array kTypes{f16, bf16, tf32, e4m3, e5m2, s8, u8};
  if (std::ranges::find(kTypes, element) == kTypes.end() || rows == 0 || depth == 0)
    throw Error(ErrorKind::usage, "bad-sparse-layout",
                fmt::format("a sparse layout of {} x {} elements of {}", rows, depth, element.name),
                "it is for f16, bf16, tf32, e4m3, e5m2, s8 and u8, with at least one element");
}

std::uint64_t SparseLayout::stored() const { return filled_depth(*this) / 2; }

std::uint64_t SparseLayout::row_tiles() const { return units_in(rows_, kRows); }

std::uint64_t SparseLayout::depth_tiles() const {
  return filled_depth(*this) / static_cast<std::uint64_t>(tile_depth());
}

std::uint64_t SparseLayout::value_bytes() const {
  return rows_ * stored() * static_cast<std::uint64_t>(element_.bytes());
}

std::uint64_t SparseLayout::metadata_bytes() const { return row_tiles() * depth_tiles() * kTileBytes; }

std::uint64_t SparseLayout::metadata_bit(std::uint64_t row, std::uint64_t group) const {
  const std::uint64_t tile = row / kRows * depth_tiles() + group / kGroups, r = row % kRows,
                      g = group % kGroups;
  const std::uint64_t lane = r / 16 * 32 + r % 8 * 4, half = r % 16 / 8;
  const bool bytes = element_.bits == 8;
  const std::uint64_t thread = bytes ? lane + g / 8 * 2 + half : lane + g / 4;
  const std::uint64_t bit = bytes ? g % 8 * kGroupBits : g % 4 * kGroupBits + half * 16;
  return 8 * (tile * kTileBytes + thread * kWordBytes) + bit;
}

void compress_rows(const SparseLayout& layout, std::span<const std::byte> dense, std::uint64_t pitch,
                   std::span<std::byte> values, std::span<std::byte> metadata) {
  const auto size = static_cast<std::uint64_t>(layout.element().bytes());
  const auto group = static_cast<std::uint64_t>(layout.group());
  if (pitch < layout.depth())
    throw Error(ErrorKind::usage, "bad-stride",
                fmt::format("rows of {} elements with a pitch of {}", layout.depth(), pitch),
                "give at least the elements of a row");
  require_size(dense.size(), ((layout.rows() - 1) * pitch + layout.depth()) * size, "elements");
  require_size(values.size(), layout.value_bytes(), "values");
  require_size(metadata.size(), layout.metadata_bytes(), "metadata");
  std::ranges::fill(values.first(layout.value_bytes()), std::byte{0});
  const std::byte first = SparseLayout::kFirst;  // the same for all groups that are filled up
  std::ranges::fill(metadata.first(layout.metadata_bytes()), first | first << kGroupBits);
  for (std::uint64_t row = 0; row < layout.rows(); ++row)
    for (std::uint64_t begin = 0; begin < layout.depth(); begin += group) {
      const std::uint64_t count = std::min(group, layout.depth() - begin);
      const auto elements = dense.subspan((row * pitch + begin) * size, count * size);
      unsigned nonzero = 0;
      for (std::uint64_t i = 0; i < count; ++i)
        if (!is_zero(layout.element(), elements.subspan(i * size, size))) nonzero |= 1U << i;
      if (std::popcount(nonzero) > layout.group() / 2)
        throw not_sparse(row, begin, layout.group(), std::popcount(nonzero));
      const Choice choice = choose(nonzero, layout.group());
      const std::uint64_t to = row * layout.stored() + begin / 2;
      for (std::size_t i = 0; i < static_cast<std::size_t>(choice.count); ++i)
        if (const auto from = static_cast<std::uint64_t>(choice.positions.at(i)); from < count)
          std::memcpy(values.data() + (to + i) * size, elements.data() + from * size, size);
      const std::uint64_t bit = layout.metadata_bit(row, begin / group);
      std::byte& place = metadata[bit / 8];
      place = (place & ~(std::byte{0xf} << bit % 8)) | std::byte(choice.bits()) << bit % 8;
    }
}

}  // namespace ptxloom::kit
