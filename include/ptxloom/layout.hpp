// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ptxloom/specs.hpp"
#include "ptxloom/type.hpp"

// Where the elements of a warp-wide operand lie: which lane, register and bit holds row and column. A form
// states this as mixed-radix digits over lane and val ("4*k2 8*m1": the lane's lowest digit has radix 4 and
// counts columns of A in steps of 2); a Layout is that map written out. Axes stand in the order m < k < n, so
// A is m x k, B is k x n (its row is k) and C and D are m x n. Elements fill registers from the lowest bit of
// the first.
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
  Type type;     ///< of an element
  int bits = 0;  ///< that an element takes in its register
  int rows = 0;
  int cols = 0;
  int matrices = 1;
  int lanes = 0;      ///< 32; 128 where a warpgroup holds the operand
  int registers = 0;  ///< of the operand in each lane

  /// All elements, by lane, then by register and bit.
  std::span<const LayoutElement> elements() const { return elements_; }
  /// The holder of an element; where several lanes hold it, the first. nullopt outside the matrix.
  std::optional<LayoutElement> find(int row, int col, int matrix = 0) const;
  /// The elements that a lane holds; `at(lane, 0)` is the lowest of its first register.
  std::span<const LayoutElement> lane(int lane) const;
  const LayoutElement& at(int lane, int index) const {
    return this->lane(lane)[static_cast<std::size_t>(index)];
  }
  /// For the matrix operands of loads and stores: whose address is that of which row.
  std::span<const LayoutAddress> addresses() const { return addresses_; }

 private:
  friend class LayoutMaker;
  std::vector<LayoutElement> elements_;
  std::vector<LayoutAddress> addresses_;
  std::vector<std::size_t> first_of_lane_;  // lanes + 1
  std::vector<std::int32_t> holder_;        // by matrix, row, column: index of the element or -1
};

/// The map of an operand, by its name or alias. Selectors not given are 0. Throws Error(usage, "no-layout")
/// where the specs give none, "bad-selector" for one the map does not have, or out of its range.
Layout layout(const Variant& variant, std::string_view operand,
              std::span<const LayoutSelector> selectors = {});
Layout layout(const Variant& variant, std::string_view operand,
              std::initializer_list<LayoutSelector> selectors);
/// Whether the specs give one.
bool has_layout(const Variant& variant, std::string_view operand);

}  // namespace ptxloom
