// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "exec/machine/decoder.hpp"
#include "exec/machine/lanes.hpp"
#include "ptxloom/layout.hpp"

// A matrix distributed over the registers of a warp, or of the four warps of a warpgroup; gathered and
// scattered by the map of its operand in the specs.
namespace ptxloom::exec {

class Fragment {
 public:
  /// The position of element (row, column) of a matrix.
  struct Position {
    std::uint16_t reg = 0;  // for a warpgroup: registers of the first warp, then of the second ...
    std::uint8_t lane = 0, bit = 0;
  };
  /// The registers of a warp, or of each warp of a warpgroup.
  using Files = std::span<std::byte* const>;

  Fragment() = default;
  /// The map of an operand of the decoder's current instruction. `transposed`: elements are ordered by
  /// columns.
  Fragment(const Decoder& decoder, std::string_view operand, bool transposed = false,
           std::span<const LayoutSelector> selectors = {});
  explicit Fragment(const Layout& layout, bool transposed = false);
  /// A map that the specs do not have: the positions of all elements, row by row.
  Fragment(const Type& type, int rows, int cols, int registers, std::vector<Position> positions);

  const Type& type() const { return type_; }
  int rows() const { return rows_; }
  int cols() const { return cols_; }
  int matrices() const { return matrices_; }
  /// Per lane.
  std::size_t registers() const { return registers_; }
  /// By matrix, then by row, or by column if transposed.
  std::span<const Position> positions() const { return positions_; }

  /// The elements, as bits, of a fragment whose registers start at `slots`.
  template <class Bits>
  void gather(Files files, std::span<const Slot> slots, std::vector<Bits>& elements) const {
    gather<Bits>(registers_of<Bits>(files, slots), elements);
  }
  template <class Bits>
  void gather(std::byte* file, std::span<const Slot> slots, std::vector<Bits>& elements) const {
    gather(Files(&file, 1), slots, elements);
  }
  /// The same, given where the lanes of each register lie.
  template <class Bits>
  void gather(std::span<Storage<Bits>* const> registers, std::vector<Bits>& elements) const {
    elements.resize(positions_.size());
    if (fills(registers)) {
      for_lanes_of(registers, [&](Storage<Bits>& lane, std::uint32_t element) {
        elements[element] = static_cast<Bits>(lane);
      });
      return;
    }
    const Bits mask = element_bits_ == 8 * sizeof(Bits) ? ~Bits{0} : (Bits{1} << element_bits_) - 1;
    for (std::size_t i = 0; i < positions_.size(); ++i) {
      const Position& at = positions_[i];
      elements[i] = static_cast<Bits>(registers[at.reg][at.lane] >> at.bit) & mask;
    }
  }

  /// Bits of registers that hold no element become 0.
  template <class Bits>
  void scatter(Files files, std::span<const Slot> slots, std::span<const Bits> elements) const {
    scatter<Bits>(registers_of<Bits>(files, slots), elements);
  }
  template <class Bits>
  void scatter(std::byte* file, std::span<const Slot> slots, std::span<const Bits> elements) const {
    scatter(Files(&file, 1), slots, elements);
  }
  template <class Bits>
  void scatter(std::span<Storage<Bits>* const> registers, std::span<const Bits> elements) const {
    if (fills(registers)) {
      for_lanes_of(registers, [&](Storage<Bits>& lane, std::uint32_t element) {
        lane = static_cast<Storage<Bits>>(elements[element]);
      });
      return;
    }
    for (Storage<Bits>* lanes : registers) std::fill_n(lanes, kLanes, Storage<Bits>{0});
    for (std::size_t i = 0; i < positions_.size(); ++i) {
      const Position& at = positions_[i];
      registers[at.reg][at.lane] |= static_cast<Storage<Bits>>(elements[i]) << at.bit;
    }
  }

 private:
  template <class Bits>
  std::vector<Storage<Bits>*> registers_of(Files files, std::span<const Slot> slots) const {
    std::vector<Storage<Bits>*> registers;
    for (std::byte* file : files) {
      for (std::size_t i = 0; i < registers_; ++i)
        registers.push_back(reinterpret_cast<Storage<Bits>*>(file + slots[i].offset));
    }
    return registers;
  }

  /// Whether each lane of each of these registers holds one element, and nothing else.
  template <class Register>
  bool fills(std::span<Register* const> registers) const {
    return sizeof(Register) == sizeof(std::uint32_t) && elements_.size() == registers.size() * kLanes;
  }
  /// Calls f(lane of a register, number of its element).
  template <class Register, class F>
  void for_lanes_of(std::span<Register* const> registers, F f) const {
    const std::uint32_t* element = elements_.data();
    for (Register* lanes : registers)
      for (int lane = 0; lane < kLanes; ++lane) f(lanes[lane], *element++);
  }
  void find_elements();

  Type type_;
  int rows_ = 0, cols_ = 0, matrices_ = 1;
  int element_bits_ = 0;
  std::size_t registers_ = 0;
  std::vector<Position> positions_;
  std::vector<std::uint32_t> elements_;  // by register and lane, if all hold one of 32 bits
};

/// The fragments of an operand whose map depends on the values of one or two other operands, by those values.
class SelectedFragment {
 public:
  SelectedFragment() = default;
  /// `first`, `second`: the selecting operands; "" for none.
  SelectedFragment(const Decoder& decoder, std::string_view operand, std::string_view first,
                   std::string_view second = {});

  /// The fragment for these values; null if they are out of range.
  const Fragment* find(std::uint32_t first, std::uint32_t second = 0) const;

 private:
  std::map<std::pair<std::uint32_t, std::uint32_t>, Fragment> fragments_;
};

}  // namespace ptxloom::exec
