// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/kit/weight_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "ptxloom/error.hpp"

namespace ptxloom::kit {
namespace {

constexpr std::uint64_t kRows = WeightLayout::kTileRows, kWordBytes = 4;
constexpr std::uint64_t kElementBits = 4;  // of narrow elements
constexpr int kWordElements = 8;

/// [register][bit of an element]: bit of a half word.
using Bits = std::array<std::array<int, kElementBits>, 4>;
constexpr Bits kInteger = {{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}, {12, 13, 14, 15}}};
constexpr Bits kFloat = {{{6, 7, 8, 15}, {3, 4, 5, 12}, {0, 1, 2, 13}, {9, 10, 11, 14}}};

std::uint64_t units_in(std::uint64_t extent, std::uint64_t size) { return (extent + size - 1) / size; }

/// Where the bits of an element are: the byte at which their word begins, and the element's number in it.
struct Place {
  std::uint64_t word;
  int index;
};

// In a tile a warp has 16 rows. Bits 1 and 2 of an element of k select the lane, bit 0 the half of the word,
// bit 3 and the row's bit 3 the register.
Place place_beside_halves(std::uint64_t row, std::uint64_t k) {
  return {.word = k / 16, .index = static_cast<int>(row % 16 / 8 + k % 16 / 8 * 2 + k % 2 * 4)};
}

// Bits 2 and 3 select the lane, bit 4 the word of an instruction, bits 0 and 1 the byte, and the row's bit 3
// the register.
Place place_beside_bytes(std::uint64_t row, std::uint64_t k) {
  return {.word = k / 16, .index = static_cast<int>(row % 16 / 8 * 4 + k % 4)};
}

// As beside halves, but bit 3 selects the word, and the row's bit 3 the half of it.
Place place_of_byte(std::uint64_t row, std::uint64_t k) {
  return {.word = k / 8, .index = static_cast<int>(row % 16 / 8 * 2 + k % 2)};
}

Place place_of(const WeightLayout& layout, std::uint64_t row, std::uint64_t k) {
  const auto depth = static_cast<std::uint64_t>(layout.tile_depth());
  const bool beside_bytes = layout.activations().bits == 8;
  const std::uint64_t in_tile = k % depth;
  Place place = layout.element().bits == 8 ? place_of_byte(row, in_tile)
                : beside_bytes             ? place_beside_bytes(row, in_tile)
                                           : place_beside_halves(row, in_tile);
  const std::uint64_t lane = beside_bytes ? k % 16 / 4 : k % 8 / 2;
  const std::uint64_t thread = row % kRows / 16 * 32 + row % 8 * 4 + lane;
  place.word = (row / kRows * layout.depth_tiles() + k / depth) * WeightLayout::kTileBytes +
               thread * WeightLayout::kThreadBytes + place.word * kWordBytes;
  return place;
}

/// [element of a word][code]: the bits of the word.
using Spread = std::array<std::array<unsigned, 16>, kWordElements>;

Spread spread_of(const WeightLayout& layout) {
  Spread spread{};
  for (int index = 0; index < kWordElements; ++index)
    for (unsigned code = 0; code < 16; ++code)
      for (int bit = 0; bit < 4; ++bit)
        spread[static_cast<std::size_t>(index)][code] |= (code >> bit & 1U) << layout.bit_of_word(index, bit);
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
  return units_in(
      ((layout.rows() - 1) * pitch + layout.depth()) * static_cast<std::uint64_t>(layout.element().bits), 8);
}

void shuffle_bytes(const WeightLayout& layout, std::span<const std::byte> plain, std::uint64_t pitch,
                   std::span<std::byte> shuffled) {
  for (std::uint64_t row = 0; row < layout.rows(); ++row)
    for (std::uint64_t k = 0; k < layout.depth(); ++k) {
      const Place place = place_of(layout, row, k);
      shuffled[place.word + static_cast<std::uint64_t>(place.index)] = plain[row * pitch + k];
    }
}

}  // namespace

WeightLayout::WeightLayout(Type element, std::uint64_t rows, std::uint64_t depth, Type activations)
    : element_(element), rows_(rows), depth_(depth), activations_(activations) {
  const bool integers = element == s4 || element == u4, halves = activations == bf16 || activations == f16;
  const bool bytes = element == s8 || element == e4m3 || element == e5m2;
  const bool floats = halves || activations == e4m3 || activations == e5m2;
  const bool known =
      (bytes && halves) || (element == e2m1 && floats) || (integers && (floats || activations == s8));
  if (!known || rows == 0 || depth == 0)
    throw Error(ErrorKind::usage, "bad-weights",
                fmt::format("a weight layout of {} x {} elements of {} beside {}", rows, depth, element.name,
                            activations.name),
                "it is for s4, u4 and e2m1, with at least one element, beside bf16, f16, e4m3 and e5m2, for "
                "s4 and u4 beside s8, and for s8, e4m3 and e5m2 beside bf16 and f16");
}

std::uint64_t WeightLayout::row_tiles() const { return units_in(rows_, kRows); }

std::uint64_t WeightLayout::filled_depth() const { return units_in(depth_, kDepthUnit) * kDepthUnit; }

std::uint64_t WeightLayout::depth_tiles() const {
  return filled_depth() / static_cast<std::uint64_t>(tile_depth());
}

std::uint64_t WeightLayout::bytes() const { return row_tiles() * depth_tiles() * kTileBytes; }

int WeightLayout::bit_of_word(int index, int bit) const {
  if (element_.bits == 8) return 8 * index + bit;
  if (activations_.bits == 16) {
    const Bits& bits = element_ == e2m1 ? kFloat : kInteger;
    return index / 4 * 16 + bits.at(static_cast<std::size_t>(index % 4)).at(static_cast<std::size_t>(bit));
  }
  const int reg = index / 4, number = index % 4;
  if (activations_ == s8) return 8 * number + 4 * reg + bit;
  if (element_ == e2m1 && bit == 3) return 8 * number + (reg == 0 ? 7 : 3);  // the sign
  return 16 * reg + 4 * number + bit;
}

std::uint64_t WeightLayout::bit(std::uint64_t row, std::uint64_t k, int bit) const {
  const Place place = place_of(*this, row, k);
  return 8 * place.word + static_cast<std::uint64_t>(bit_of_word(place.index, bit));
}

std::uint64_t WeightLayout::groups(std::uint64_t group) const { return units_in(filled_depth(), group); }

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
  if (layout.element().bits == 8) return shuffle_bytes(layout, plain, pitch, shuffled);
  const Spread spread = spread_of(layout);
  for (std::uint64_t row = 0; row < layout.rows(); ++row)
    for (std::uint64_t k = 0; k < layout.depth(); ++k) {
      const std::uint64_t element = row * pitch + k;
      const unsigned code =
          std::to_integer<unsigned>(plain[element / 2]) >> (element % 2 * kElementBits) & 15U;
      const Place place = place_of(layout, row, k);
      const unsigned bits = spread[static_cast<std::size_t>(place.index)][code];
      for (std::size_t byte = 0; byte < kWordBytes; ++byte)
        shuffled[place.word + byte] |= std::byte(bits >> 8 * byte & 0xffU);
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
