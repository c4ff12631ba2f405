// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/kit/weight_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "ptxloom/error.hpp"

namespace ptxloom::kit {
namespace {

constexpr std::uint64_t kRows = WeightLayout::kTileRows, kWordBytes = 4;
constexpr std::uint64_t kTileThreads = 128;
constexpr int kMostUnitWords = 3;             // of a unit of 6-bit elements
constexpr int kWordElements = 8, kPairs = 4;  // of 4 bits in a word, and their pairs

/// [pair][bit of an element]: bit of a half word.
using Bits = std::array<std::array<int, kPairs>, kPairs>;
constexpr Bits kInteger = {{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}, {12, 13, 14, 15}}};
constexpr Bits kFloat = {{{6, 7, 8, 15}, {3, 4, 5, 12}, {0, 1, 2, 13}, {9, 10, 11, 14}}};

/// Of 6 bits a unit of three words has eight pairs: each word has two whole ones, of which the first is in
/// place, and four bits of the others.
int bit_of_six(int pair, int bit) {
  constexpr int kWhole = 6, kSign = 5, kLowBits = 4;
  const int word = pair / 2, other = pair - kWhole;
  if (pair < kWhole && pair % 2 == 0) return 32 * word + (bit == kSign ? 15 : 4 + bit);
  if (pair < kWhole) return 32 * word + (bit == kSign ? 14 : 9 + bit);
  return bit < kLowBits ? 32 * other + bit : 32 * 2 + 2 * other + bit - kLowBits;
}

std::uint64_t units_in(std::uint64_t extent, std::uint64_t size) { return (extent + size - 1) / size; }

/// Where the bits of an element are: the byte at which their unit begins, and the element's number in it.
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
  if (layout.element().bits == 6) {  // two of these words become a unit of three
    place.index += static_cast<int>(place.word % 2) * kWordElements;
    place.word = place.word / 2 * static_cast<std::uint64_t>(layout.unit_words());
  }
  place.word = (row / kRows * layout.depth_tiles() + k / depth) * layout.tile_bytes() +
               thread * static_cast<std::uint64_t>(layout.thread_bytes()) + place.word * kWordBytes;
  return place;
}

/// For each element of a unit, and each of its codes: the words of the unit.
class Spread {
 public:
  using Words = std::array<std::uint32_t, kMostUnitWords>;

  explicit Spread(const WeightLayout& layout) : codes_(std::size_t{1} << layout.element().bits) {
    words_.resize(static_cast<std::size_t>(layout.unit_elements()) * codes_);
    for (std::size_t i = 0; i < words_.size(); ++i)
      for (int bit = 0; bit < layout.element().bits; ++bit) {
        const int place = layout.bit_of_word(static_cast<int>(i / codes_), bit);
        words_[i][static_cast<std::size_t>(place / 32)] |= static_cast<std::uint32_t>(i % codes_ >> bit & 1U)
                                                           << place % 32;
      }
  }
  const Words& words(int index, std::uint64_t code) const {
    return words_[static_cast<std::size_t>(index) * codes_ + code];
  }

 private:
  std::size_t codes_;
  std::vector<Words> words_;
};

/// Element number `index` of densely packed ones of up to 8 bits.
std::uint64_t dense_code(std::span<const std::byte> plain, std::uint64_t index, int bits) {
  const std::uint64_t first = index * static_cast<std::uint64_t>(bits), byte = first / 8;
  std::uint64_t window = std::to_integer<std::uint64_t>(plain[byte]);
  if (first % 8 + static_cast<std::uint64_t>(bits) > 8)
    window |= std::to_integer<std::uint64_t>(plain[byte + 1]) << 8;
  return window >> first % 8 & ((std::uint64_t{1} << bits) - 1);
}

void require_size(std::uint64_t have, std::uint64_t need, const char* what) {
  if (have < need)
    throw Error(ErrorKind::usage, "buffer-too-small",
                fmt::format("the {} have {} bytes, and {} are needed", what, have, need),
                "give whole matrices: WeightLayout says how large the result is");
}

void require_pitch(const WeightLayout& layout, std::uint64_t pitch) {
  const bool whole = pitch * static_cast<std::uint64_t>(layout.element().bits) % 8 == 0;
  if (pitch < layout.depth() || !whole)
    throw Error(ErrorKind::usage, "bad-stride",
                fmt::format("rows of {} elements of {} with a pitch of {}", layout.depth(),
                            layout.element().name, pitch),
                "give at least the elements of a row, and whole bytes");
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

bool WeightLayout::has(Type element, Type activations) {
  const bool halves = activations == bf16 || activations == f16;
  const bool floats = halves || activations == e4m3 || activations == e5m2;
  if (element == s8 || element == e4m3 || element == e5m2) return halves;
  if (element == e2m1 || element == e2m3 || element == e3m2) return floats;
  return (element == s4 || element == u4) && (floats || activations == s8);
}

WeightLayout::WeightLayout(Type element, std::uint64_t rows, std::uint64_t depth, Type activations)
    : element_(element), rows_(rows), depth_(depth), activations_(activations) {
  if (!has(element, activations) || rows == 0 || depth == 0)
    throw Error(ErrorKind::usage, "bad-weights",
                fmt::format("a weight layout of {} x {} elements of {} beside {}", rows, depth, element.name,
                            activations.name),
                "it is for s4, u4, e2m1, e2m3 and e3m2, with at least one element, beside bf16, f16, e4m3 "
                "and e5m2, for s4 and u4 beside s8, and for s8, e4m3 and e5m2 beside bf16 and f16");
}

std::uint64_t WeightLayout::row_tiles() const { return units_in(rows_, kRows); }

std::uint64_t WeightLayout::filled_depth() const { return units_in(depth_, kDepthUnit) * kDepthUnit; }

std::uint64_t WeightLayout::depth_tiles() const {
  return filled_depth() / static_cast<std::uint64_t>(tile_depth());
}

std::uint64_t WeightLayout::tile_bytes() const {
  return kTileThreads * static_cast<std::uint64_t>(thread_bytes());
}

std::uint64_t WeightLayout::bytes() const { return row_tiles() * depth_tiles() * tile_bytes(); }

bool WeightLayout::in_pairs() const {
  return activations_.bits == 16 || element_.bits == 6 || (element_ == u4 && activations_ != s8);
}

int WeightLayout::bit_of_word(int index, int bit) const {
  if (element_.bits == 8) return 8 * index + bit;
  const int reg = index % kWordElements / 4, number = index % 4;
  if (in_pairs()) {
    const bool beside_bytes = activations_.bits == 8;
    const int pair = index / kWordElements * kPairs + (beside_bytes ? 2 * reg + number / 2 : number);
    const int half = beside_bytes ? number % 2 : reg;
    if (element_.bits == 6) return 16 * half + bit_of_six(pair, bit);
    const Bits& bits = element_ == e2m1 ? kFloat : kInteger;
    return 16 * half + bits.at(static_cast<std::size_t>(pair)).at(static_cast<std::size_t>(bit));
  }
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
  require_pitch(layout, pitch);
  require_size(plain.size(), plain_bytes(layout, pitch), "weights");
  require_size(shuffled.size(), layout.bytes(), "shuffled weights");
  std::ranges::fill(shuffled.first(layout.bytes()), std::byte{0});
  if (layout.element().bits == 8) return shuffle_bytes(layout, plain, pitch, shuffled);
  const Spread spread(layout);
  const std::size_t unit_bytes = kWordBytes * static_cast<std::size_t>(layout.unit_words());
  for (std::uint64_t row = 0; row < layout.rows(); ++row)
    for (std::uint64_t k = 0; k < layout.depth(); ++k) {
      const Place place = place_of(layout, row, k);
      const Spread::Words& words =
          spread.words(place.index, dense_code(plain, row * pitch + k, layout.element().bits));
      for (std::size_t byte = 0; byte < unit_bytes; ++byte)
        shuffled[place.word + byte] |= std::byte(words[byte / kWordBytes] >> 8 * (byte % kWordBytes) & 0xffU);
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
