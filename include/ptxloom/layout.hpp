// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string_view>
#include <vector>

#include "ptxloom/specs.hpp"
#include "ptxloom/type.hpp"

// Where the elements of a warp-wide operand lie: which lane, register and bit holds row and column. A form
// states this as mixed-radix digits over lane and val ("4*k2 8*m1": the lane's lowest digit has radix 4 and
// counts columns of A in steps of 2); a Layout is that map written out. Axes stand in the order m < k < n, so
// A is m x k, B is k x n (its row is k) and C and D are m x n; scale factors are m (or n) x block of k. Of a
// sparse A the columns are the elements stored, and its metadata has an index for each of them (4-bit types:
// for each pair). Of matrices loaded from memory the rows are those of memory. Elements fill registers from
// the lowest bit of the first.
namespace [[gnu::visibility("default")]] ptxloom {

struct LayoutElement {
  int lane = 0;
  int reg = 0;  ///< index in the operand's vector
  int bit = 0;  ///< its lowest bit in that register
  int row = 0;
  int col = 0;
  int matrix = 0;  ///< where an operand holds several matrices (ldmatrix, m8n8k4), which one
  friend bool operator==(const LayoutElement&, const LayoutElement&) = default;
};

/// The lane whose address operand says where a row of a matrix lies in memory.
struct LayoutAddress {
  int lane = 0;
  int matrix = 0;
  int row = 0;
  friend bool operator==(const LayoutAddress&, const LayoutAddress&) = default;
};

/// The value of an operand that the map depends on ("2*=TA"): a thread or byte selector.
struct LayoutSelector {
  std::string_view operand;
  int value = 0;
};

class Layout {
 public:
  Type type;       ///< of an element
  int bits = 0;    ///< of an element, without padding
  int stride = 0;  ///< bits from an element to the next in a register
  int rows = 0;
  int cols = 0;
  char row_axis = '\0';  ///< what rows count: m, k or n; '\0' where there is but one
  char col_axis = '\0';
  int matrices = 1;
  int block = 0;          ///< of scale factors: elements of k that a column is for; else 0
  int lanes = 0;          ///< 32; 128 where a warpgroup holds the operand
  int registers = 0;      ///< of the operand in each lane
  int register_bits = 0;  ///< of each

  /// All elements, by lane, then by register and bit.
  std::span<const LayoutElement> elements() const { return elements_; }
  /// The holder of an element. nullopt outside the matrix.
  std::optional<LayoutElement> find(int row, int col, int matrix = 0) const;
  /// The elements that a lane holds; `at(lane, 0)` is the lowest of its first register.
  std::span<const LayoutElement> lane(int lane) const;
  const LayoutElement& at(int lane, int index) const {
    return this->lane(lane)[static_cast<std::size_t>(index)];
  }
  /// For the matrix operands of loads and stores: whose address is that of which row.
  std::span<const LayoutAddress> addresses() const { return addresses_; }

  /// Spreads a host matrix over the lanes: register `reg` of lane `lane` is at lane * registers + reg. The
  /// matrix is the bits of its elements row by row, rows `leading` elements apart (0: tight); where there are
  /// several, one below the other. Bits of an item above those of an element are ignored; bits of registers
  /// that hold no element are 0. Throws Error(usage, "bad-matrix") for too few items or too small registers.
  template <std::unsigned_integral Register = std::uint32_t, std::ranges::contiguous_range Matrix>
    requires std::unsigned_integral<std::ranges::range_value_t<Matrix>>
  std::vector<Register> pack(const Matrix& matrix, std::size_t leading = 0) const;

  /// The other way: gathers the elements from the lanes' registers into a host matrix, of which nothing else
  /// is touched.
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
  std::shared_ptr<const void> owner_;       // the variant's: a type's name may be an overlay's
};

/// The map of an operand, by its name or alias. Selectors not given are 0. Throws Error(usage, "no-layout")
/// where the specs give none, "bad-selector" for one the map does not have, or out of its range.
Layout layout(const Variant& variant, std::string_view operand,
              std::span<const LayoutSelector> selectors = {});
Layout layout(const Variant& variant, std::string_view operand,
              std::initializer_list<LayoutSelector> selectors);
/// Whether the specs give one.
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
