// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <ranges>
#include <span>
#include <string_view>
#include <vector>

#include "ptxloom/specs.hpp"
#include "ptxloom/type.hpp"

/// \file
/// Fragment layouts: which lane, register and bit of a warp-wide operand holds an element of a matrix. A form
/// states this as mixed-radix digits over lane and val ("4*k2 8*m1": the lowest digit of the lane has radix 4
/// and counts columns of A in steps of 2). A Layout is that map as a table.
///
/// Axes are in the order m, k, n: A is m x k, B is k x n, C and D are m x n, and scale factors are m (or n) x
/// blocks of k. The columns of a sparse A are the elements that are stored; its metadata has an index for
/// each of them, or for each pair if the type has 4 bits. The rows of a matrix that is loaded from memory are
/// those in memory. Elements fill the registers in order, from the lowest bit of the first.
namespace [[gnu::visibility("default")]] ptxloom {

/// Where one element is.
struct LayoutElement {
  int lane = 0;    ///< lane, or thread of the warpgroup
  int reg = 0;     ///< index in the operand's vector
  int bit = 0;     ///< its lowest bit in that register
  int row = 0;     ///< its row
  int col = 0;     ///< its column
  int matrix = 0;  ///< which matrix, if the operand holds several (ldmatrix, m8n8k4)
  friend bool operator==(const LayoutElement&, const LayoutElement&) = default;
};

/// A lane whose address operand is the address of a row of a matrix in memory.
struct LayoutAddress {
  int lane = 0;    ///< the lane
  int matrix = 0;  ///< which matrix
  int row = 0;     ///< which row
  friend bool operator==(const LayoutAddress&, const LayoutAddress&) = default;
};

/// The value of another operand that the map depends on ("2*=TA"): a thread selector or a byte selector.
struct LayoutSelector {
  std::string_view operand;  ///< its name
  int value = 0;             ///< its value
};

/// The layout of an operand. It may outlive the Variant and the Specs that it was made from.
class Layout {
 public:
  Type type;              ///< of an element
  int bits = 0;           ///< of an element, without padding
  int stride = 0;         ///< bits from an element to the next one in a register
  int rows = 0;           ///< of a matrix
  int cols = 0;           ///< of a matrix
  char row_axis = '\0';   ///< what rows count: m, k or n; 0 if there is only one row
  char col_axis = '\0';   ///< what columns count
  int matrices = 1;       ///< matrices in the operand
  int block = 0;          ///< for scale factors: elements along k that a factor is for; else 0
  int lanes = 0;          ///< 32, or 128 if a warpgroup holds the operand
  int registers = 0;      ///< registers of the operand in each lane
  int register_bits = 0;  ///< size of each register

  /// All elements, by lane, then by register and bit.
  std::span<const LayoutElement> elements() const { return elements_; }
  /// Where an element is; nullopt outside of the matrix.
  std::optional<LayoutElement> find(int row, int col, int matrix = 0) const;
  /// The elements that a lane holds, and one of them. The first is the lowest of its first register.
  ///@{
  std::span<const LayoutElement> lane(int lane) const;
  const LayoutElement& at(int lane, int index) const {
    return this->lane(lane)[static_cast<std::size_t>(index)];
  }
  ///@}
  /// For matrix loads and stores: which lane gives the address of which row.
  std::span<const LayoutAddress> addresses() const { return addresses_; }

  /// Distributes a matrix on the host over the lanes. Register `reg` of lane `lane` is item lane * registers
  /// + reg of the result. Each item of `matrix` holds the bits of one element; those above the element's size
  /// are ignored. Its rows are `leading` items apart; 0: it is contiguous. Several matrices lie one below the
  /// other. Bits of registers that hold no element are 0. Throws Error(usage, "bad-matrix") if there are too
  /// few items, or registers are too small.
  template <std::unsigned_integral Register = std::uint32_t, std::ranges::contiguous_range Matrix>
    requires std::unsigned_integral<std::ranges::range_value_t<Matrix>>
  std::vector<Register> pack(const Matrix& matrix, std::size_t leading = 0) const;

  /// The inverse: collects the elements from the registers of all lanes into a matrix on the host. Items
  /// between its rows are left as they are. Throws as pack().
  template <std::ranges::contiguous_range Registers, std::ranges::contiguous_range Matrix>
    requires std::unsigned_integral<std::ranges::range_value_t<Registers>> &&
             std::unsigned_integral<std::ranges::range_value_t<Matrix>>
  void unpack(const Registers& packed, Matrix& matrix, std::size_t leading = 0) const;

 private:
  friend class LayoutMaker;
  struct Storage {
    template <class Item>
    explicit Storage(std::span<Item> span) : items(span.size()), bits(8 * static_cast<int>(sizeof(Item))) {}
    std::size_t items;
    int bits;  // of an item
  };
  /// The distance between rows; throws where matrix or registers are too small.
  std::size_t checked_leading(Storage matrix, Storage packed, std::size_t leading) const;
  std::size_t register_of(const LayoutElement& e) const {
    return static_cast<std::size_t>(e.lane * registers + e.reg);
  }
  std::size_t item_of(const LayoutElement& e, std::size_t leading) const {
    return static_cast<std::size_t>(e.matrix * rows + e.row) * leading + static_cast<std::size_t>(e.col);
  }
  std::uint64_t mask() const { return ~std::uint64_t{0} >> (64 - bits); }
  /// Extents, and indices into the elements by lane and by place.
  void index_holders();

  std::vector<LayoutElement> elements_;
  std::vector<LayoutAddress> addresses_;
  std::vector<std::size_t> first_of_lane_;  // lanes + 1
  std::vector<std::int32_t> holder_;        // by matrix, row, column: index of the element
};

/// The layout of an operand, by its name or alias. Selectors that are not given are 0. Throws Error(usage):
/// "no-layout" if the specs give none, "unknown-operand", "bad-selector" for a selector that the map does not
/// have or a value out of range.
///@{
Layout layout(const Variant& variant, std::string_view operand,
              std::span<const LayoutSelector> selectors = {});
Layout layout(const Variant& variant, std::string_view operand,
              std::initializer_list<LayoutSelector> selectors);
///@}
/// Whether the specs give a layout for the operand.
bool has_layout(const Variant& variant, std::string_view operand);

template <std::unsigned_integral Register, std::ranges::contiguous_range Matrix>
  requires std::unsigned_integral<std::ranges::range_value_t<Matrix>>
std::vector<Register> Layout::pack(const Matrix& matrix, std::size_t leading) const {
  const std::span from(matrix);
  std::vector<Register> packed(static_cast<std::size_t>(lanes * registers));
  leading = checked_leading(Storage(from), Storage(std::span(packed)), leading);
  for (const LayoutElement& e : elements_) {
    const std::uint64_t element = from[item_of(e, leading)] & mask();
    packed[register_of(e)] |= static_cast<Register>(element << e.bit);
  }
  return packed;
}

template <std::ranges::contiguous_range Registers, std::ranges::contiguous_range Matrix>
  requires std::unsigned_integral<std::ranges::range_value_t<Registers>> &&
           std::unsigned_integral<std::ranges::range_value_t<Matrix>>
void Layout::unpack(const Registers& packed, Matrix& matrix, std::size_t leading) const {
  const std::span from(packed);
  const std::span into(matrix);
  leading = checked_leading(Storage(into), Storage(from), leading);
  for (const LayoutElement& e : elements_) {
    const std::uint64_t whole = from[register_of(e)];
    into[item_of(e, leading)] = static_cast<std::ranges::range_value_t<Matrix>>(whole >> e.bit & mask());
  }
}

}  // namespace ptxloom
