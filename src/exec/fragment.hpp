// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "exec/decoder.hpp"
#include "exec/lanes.hpp"

// A matrix spread over the registers of a warp, taken apart and put together by the map of its operand in the
// specs.
namespace ptxloom::exec {

class Fragment {
 public:
  /// Where element (row, column) of a matrix lies.
  struct Position {
    std::uint8_t reg = 0, lane = 0, bit = 0;
  };

  Fragment() = default;
  /// The map of an operand of the decoder's instruction. With `transposed`, elements are in the order of
  /// columns.
  Fragment(const Decoder& decoder, std::string_view operand, bool transposed = false);

  const Type& type() const { return type_; }
  int rows() const { return rows_; }
  int cols() const { return cols_; }
  int matrices() const { return matrices_; }
  /// By matrix, then row by row, or column by column if transposed.
  std::span<const Position> positions() const { return positions_; }

  /// The elements, as bits, of a fragment whose registers begin at `slots`.
  template <class Bits>
  void gather(std::byte* registers, std::span<const Slot> slots, std::vector<Bits>& elements) const {
    std::array<const Storage<Bits>*, kMaxRegisters> rows{};
    for (std::size_t i = 0; i < registers_; ++i)
      rows[i] = reinterpret_cast<const Storage<Bits>*>(registers + slots[i].offset);
    const Bits mask = element_bits_ == 8 * sizeof(Bits) ? ~Bits{0} : (Bits{1} << element_bits_) - 1;
    elements.resize(positions_.size());
    for (std::size_t i = 0; i < positions_.size(); ++i) {
      const Position& at = positions_[i];
      elements[i] = rows[at.reg][at.lane] >> at.bit & mask;
    }
  }

  template <class Bits>
  void scatter(std::byte* registers, std::span<const Slot> slots, std::span<const Bits> elements) const {
    std::array<std::array<Bits, kLanes>, kMaxRegisters> whole{};
    for (std::size_t i = 0; i < positions_.size(); ++i) {
      const Position& at = positions_[i];
      whole[at.reg][at.lane] |= elements[i] << at.bit;
    }
    for (std::size_t i = 0; i < registers_; ++i) {
      const Lanes<Bits> out(registers, slots[i]);
      for (int lane = 0; lane < kLanes; ++lane) out.set(lane, whole[i][static_cast<std::size_t>(lane)]);
    }
  }

 private:
  static constexpr std::size_t kMaxRegisters = 16;
  Type type_;
  int rows_ = 0, cols_ = 0, matrices_ = 1;
  int element_bits_ = 0;
  std::size_t registers_ = 0;
  std::vector<Position> positions_;
};

}  // namespace ptxloom::exec
