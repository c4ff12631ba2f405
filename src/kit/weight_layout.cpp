// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/kit/weight_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "ptxloom/error.hpp"

namespace ptxloom::kit {
namespace {

constexpr std::uint64_t kRows = WeightLayout::kTileRows, kDepth = WeightLayout::kTileDepth;
constexpr std::uint64_t kElementBits = 4;

/// [register][bit of an element]: bit of a half word.
using Bits = std::array<std::array<int, kElementBits>, 4>;
constexpr Bits kInteger = {{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}, {12, 13, 14, 15}}};
constexpr Bits kFloat = {{{6, 7, 8, 15}, {3, 4, 5, 12}, {0, 1, 2, 13}, {9, 10, 11, 14}}};

std::uint64_t units_in(std::uint64_t extent, std::uint64_t size) { return (extent + size - 1) / size; }

std::uint64_t filled_depth(std::uint64_t depth) {
  return units_in(depth, WeightLayout::kDepthUnit) * WeightLayout::kDepthUnit;
}

/// Where the bits of an element are: the byte at which their half word begins, and the register.
struct Place {
  std::uint64_t half;
  int reg;
};

// In a tile a warp has 16 rows. Of an element of k, bits 1 and 2 select the lane, bit 0 the half, bit 3 and
// the row's bit 3 the register.
Place place_of(std::uint64_t row, std::uint64_t k, std::uint64_t depth_tiles) {
  const std::uint64_t tile = row / kRows * depth_tiles + k / kDepth;
  const std::uint64_t thread = row % kRows / 16 * 32 + row % 8 * 4 + k % 8 / 2, word = k % kDepth / 16;
  return {
      .half = tile * WeightLayout::kTileBytes + thread * WeightLayout::kThreadBytes + word * 4 + k % 2 * 2,
      .reg = static_cast<int>(row % 16 / 8 + k % 16 / 8 * 2)};
}

/// [register][code]: the bits of a half word.
using Spread = std::array<std::array<unsigned, 16>, 4>;

Spread spread_of(const WeightLayout& layout) {
  Spread spread{};
  for (int reg = 0; reg < 4; ++reg)
    for (unsigned code = 0; code < 16; ++code)
      for (int bit = 0; bit < 4; ++bit)
        spread[static_cast<std::size_t>(reg)][code] |= (code >> bit & 1U) << layout.bit_of_half(reg, bit);
  return spread;
}

void require_size(std::uint64_t have, std::uint64_t need, const char* what) {
  if (have < need)
    throw Error(ErrorKind::usage, "buffer-too-small",
                fmt::format("the {} have {} bytes, and {} are needed", what, have, need),
                "give whole matrices: WeightLayout says how large the result is");
}

/// The last row ends with its last element, not with the pitch.
std::uint64_t plain_bytes(const WeightLayout& layout, std::uint64_t pitch) {
  return units_in(((layout.rows() - 1) * pitch + layout.depth()) * kElementBits, 8);
}

}  // namespace

WeightLayout::WeightLayout(Type element, std::uint64_t rows, std::uint64_t depth)
    : element_(element), rows_(rows), depth_(depth) {
  if ((element != s4 && element != u4 && element != e2m1) || rows == 0 || depth == 0)
    throw Error(ErrorKind::usage, "bad-weights",
                fmt::format("a weight layout of {} x {} elements of {}", rows, depth, element.name),
                "it is for s4, u4 and e2m1, with at least one element");
}

std::uint64_t WeightLayout::row_tiles() const { return units_in(rows_, kRows); }

std::uint64_t WeightLayout::depth_tiles() const { return filled_depth(depth_) / kDepth; }

std::uint64_t WeightLayout::bytes() const { return row_tiles() * depth_tiles() * kTileBytes; }

int WeightLayout::bit_of_half(int reg, int bit) const {
  const Bits& bits = element_ == e2m1 ? kFloat : kInteger;
  return bits.at(static_cast<std::size_t>(reg)).at(static_cast<std::size_t>(bit));
}

std::uint64_t WeightLayout::bit(std::uint64_t row, std::uint64_t k, int bit) const {
  const Place place = place_of(row, k, depth_tiles());
  return 8 * place.half + static_cast<std::uint64_t>(bit_of_half(place.reg, bit));
}

std::uint64_t WeightLayout::groups(std::uint64_t group) const {
  return units_in(filled_depth(depth_), group);
}

std::uint64_t WeightLayout::group_values(std::uint64_t group) const {
  return row_tiles() * groups(group) * kRows;
}

std::uint64_t WeightLayout::group_position(std::uint64_t row, std::uint64_t number,
                                           std::uint64_t group) const {
  const std::uint64_t in_tile = row % kRows / 16 * 16 + row % 8 * 2 + row % 16 / 8;
  return (row / kRows * groups(group) + number) * kRows + in_tile;
}

void shuffle_weights(const WeightLayout& layout, std::span<const std::byte> plain, std::uint64_t pitch,
                     std::span<std::byte> shuffled) {
  require_size(plain.size(), plain_bytes(layout, pitch), "weights");
  require_size(shuffled.size(), layout.bytes(), "shuffled weights");
  std::ranges::fill(shuffled.first(layout.bytes()), std::byte{0});
  const Spread spread = spread_of(layout);
  const std::uint64_t depth_tiles = layout.depth_tiles();
  for (std::uint64_t row = 0; row < layout.rows(); ++row)
    for (std::uint64_t k = 0; k < layout.depth(); ++k) {
      const std::uint64_t element = row * pitch + k;
      const unsigned code =
          std::to_integer<unsigned>(plain[element / 2]) >> (element % 2 * kElementBits) & 15U;
      const Place place = place_of(row, k, depth_tiles);
      const unsigned bits = spread[static_cast<std::size_t>(place.reg)][code];
      shuffled[place.half] |= std::byte(bits & 0xffU);
      shuffled[place.half + 1] |= std::byte(bits >> 8);
    }
}

void shuffle_groups(const WeightLayout& layout, Type type, std::uint64_t group,
                    std::span<const std::byte> plain, std::span<std::byte> shuffled) {
  const auto size = static_cast<std::uint64_t>(type.bytes());
  const std::uint64_t groups = units_in(layout.depth(), group);
  require_size(plain.size(), layout.rows() * groups * size, "values of groups");
  require_size(shuffled.size(), layout.group_values(group) * size, "shuffled values of groups");
  std::ranges::fill(shuffled.first(layout.group_values(group) * size), std::byte{0});
  for (std::uint64_t row = 0; row < layout.rows(); ++row)
    for (std::uint64_t number = 0; number < groups; ++number)
      std::memcpy(shuffled.data() + layout.group_position(row, number, group) * size,
                  plain.data() + (row * groups + number) * size, size);
}

}  // namespace ptxloom::kit
