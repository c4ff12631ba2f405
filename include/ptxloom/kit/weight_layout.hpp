// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ptxloom/type.hpp"

/// \file
/// The order of weights of 4, 6 or 8 bits in memory from which a warpgroup reads operand A of wgmma, m64k16
/// beside activations of 16 bits or m64k32 beside those of 8, without moving data between threads. Weights
/// are n rows of k elements. A tile is 64 rows x 64 elements of k, 2048 bytes: thread t of the warpgroup has
/// the 16 bytes from 16 t on, a 32-bit word for each 16 elements of k. Tiles follow each other along k, then
/// along n:
///
///     rows 0-63     | tile 0 | tile 1 | tile 2 | tile 3 |        k is filled up to a multiple of 128,
///     rows 64-127   | tile 4 | tile 5 | tile 6 | tile 7 |        n to one of 64
///
/// 16 bits: a word has the four registers of the thread's fragment. Register r has two elements, adjacent in
/// k: the first in bits 0-15 of the word, the second in bits 16-31. Which four bits of a half depends on the
/// type:
///
///     s4, u4  register r: bits 4 r to 4 r + 3
///     e2m1    register 0: bits 6 7 8 and the sign in 15; 1: bits 3 4 5 and 12; 2: bits 0 1 2 and 13;
///             3: bits 9 10 11 and 14. So one shift and one mask make the exponent and mantissa of a bf16.
///
/// Activations of 8 bits: two words have the four registers, registers 0 and 1 (rows r and r + 8) in the
/// first one. A register has four elements, adjacent in k. Beside floats those of the word's first register
/// are selectors of prmt in its low half, and those of the second in its high half; beside integers they are
/// the low and high halves of bytes:
///
///     s4, u4  beside integers element j: bits 8 j to 8 j + 3 of the word, or 8 j + 4 to 8 j + 7 for the
///             second register
///     s4      beside floats: bits 4 j to 4 j + 3 of the half
///     u4      beside floats in pairs, as beside 16 bits: pair 2 r + j / 2, where r is the word's register,
///             has the place of register number 2 r + j / 2, with its first element in bits 0-15
///     e2m1    exponent and mantissa: bits 4 j to 4 j + 2 of the half; the sign in bit 8 j + 7 of the
///             word, or 8 j + 3 for the second register
///
/// Weights of 6 bits (e2m3, e3m2) have 24 bytes for each thread of a tile, 3072 bytes in all. Three words, a
/// unit, have 32 elements of k, that is eight pairs of adjacent elements: the registers of two instructions
/// beside 16 bits; beside 8 bits two pairs of each of the four registers of one. The first of a pair is in
/// bits 0-15 of a word, the second in bits 16-31. Bits of such a half, lowest bit of the element first:
///
///     pairs 0, 2, 4   bits 4 to 8 and the sign in 15 of words 0, 1, 2
///     pairs 1, 3, 5   bits 9 to 13 and the sign in 14 of words 0, 1, 2
///     pair 6          bits 0 to 3 of word 0, then 0 and 1 of word 2
///     pair 7          bits 0 to 3 of word 1, then 2 and 3 of word 2
///
/// Weights of 8 bits (s8, e4m3, e5m2) are for 16-bit activations alone. A tile is 64 rows x 32 elements of k,
/// so that a thread has 16 bytes of it, too: two words for each 16 elements of k. The first has registers 0
/// and 1 of the fragment, the second 2 and 3; an element is byte k % 2 of the low half of the word for the
/// first of these registers, and of the high half for the second.
///
/// Scales, and other values that groups of k share, are in the same order: 64 values for each group and tile
/// row, for a thread's rows r and r + 8 side by side. The values of a group follow those of the one before.
///
/// What is filled up may hold anything, and reaches no result, as long as elements that fill a group up,
/// times its scale, are finite.
namespace [[gnu::visibility("default")]] ptxloom {
namespace kit {

/// The layout of one matrix of weights.
class WeightLayout {
 public:
  static constexpr int kTileRows = 64;    ///< rows of a tile
  static constexpr int kDepthUnit = 128;  ///< k is filled up to a multiple of it
  /// Elements of k that an instruction multiplies beside activations of 8 bits: groups have at least as many.
  static constexpr std::uint32_t kInstructionOfBytes = 32;

  /// Whether there is a layout of these weights beside these activations: bf16 or f16; beside s4, u4, e2m1,
  /// e2m3 and e3m2 also e4m3 or e5m2, and beside s4 and u4 s8.
  static bool has(Type element, Type activations);

  /// `activations`: what the weights are multiplied by. Throws Error(usage, "bad-weights") for types that
  /// has() does not have, and for sizes of zero.
  WeightLayout(Type element, std::uint64_t rows, std::uint64_t depth, Type activations = bf16);

  Type element() const { return element_; }                              ///< of a weight
  std::uint64_t rows() const { return rows_; }                           ///< n
  std::uint64_t depth() const { return depth_; }                         ///< k
  Type activations() const { return activations_; }                      ///< what they are multiplied by
  int tile_depth() const { return element_.bits == 8 ? 32 : 64; }        ///< elements of k of a tile
  int thread_bytes() const { return element_.bits == 6 ? 24 : 16; }      ///< of a tile, for each thread
  std::uint64_t tile_bytes() const;                                      ///< of a tile: 128 threads
  std::uint64_t filled_depth() const;                                    ///< k with what is filled up
  std::uint64_t row_tiles() const;                                       ///< tiles along n
  std::uint64_t depth_tiles() const;                                     ///< tiles along k
  std::uint64_t bytes() const;                                           ///< of all tiles
  std::uint64_t bit(std::uint64_t row, std::uint64_t k, int bit) const;  ///< where a bit of an element lies

  /// Groups of `group` elements of k that are stored for each row, what is filled up included.
  std::uint64_t groups(std::uint64_t group) const;
  /// Values of all rows and groups.
  std::uint64_t group_values(std::uint64_t group) const;
  /// The position of the value of group number `number` of a row.
  std::uint64_t group_position(std::uint64_t row, std::uint64_t number, std::uint64_t group) const;

  /// Words of a unit, and its elements that a thread has: the fewest that are whole words, with as many of
  /// each row. Of 6 bits three words, otherwise one.
  ///@{
  int unit_words() const { return element_.bits == 6 ? 3 : 1; }
  int unit_elements() const { return unit_words() * 32 / element_.bits; }
  ///@}
  /// Whether pairs of adjacent elements are in the low and the high half of a word, so that shifts and masks
  /// make numbers of 16 bits of them: beside 16 bits, and beside floats of 8 those of u4 and of 6 bits.
  bool in_pairs() const;
  /// The bit of a unit that holds bit `bit` of its element number `index`. Beside 16 bits it is element
  /// index % 8 / 4 of register index % 4; beside 8 bits element index % 4 of register index % 8 / 4 of the
  /// word of 16 elements of k. Of 6 bits, elements from 8 on are those of the next instruction, or of the
  /// next 16 elements of k. Of weights of 8 bits, index is 0 to 3: element index % 2 of the word's register
  /// index / 2.
  int bit_of_word(int index, int bit) const;

 private:
  Type element_;
  std::uint64_t rows_, depth_;
  Type activations_;
};

/// Brings weights into the layout. `plain`: rows of k elements, packed densely, the first in the low bits;
/// a row begins `pitch` elements, whole bytes, after the one before. `shuffled`: WeightLayout::bytes();
/// what is filled up becomes zero. Throws Error(usage): "bad-stride" for a pitch shorter than a row, or not
/// of whole bytes; "buffer-too-small".
void shuffle_weights(const WeightLayout& layout, std::span<const std::byte> plain, std::uint64_t pitch,
                     std::span<std::byte> shuffled);
/// Brings the values of groups into the layout. `plain`: rows of ceil(k / group) values of `type`, a whole
/// number of bytes. `shuffled`: WeightLayout::group_values() of them; what is filled up becomes zero. Throws
/// Error(usage, "buffer-too-small").
void shuffle_groups(const WeightLayout& layout, Type type, std::uint64_t group,
                    std::span<const std::byte> plain, std::span<std::byte> shuffled);

}  // namespace kit
}  // namespace ptxloom
