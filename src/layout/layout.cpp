// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/layout.hpp"

#include <algorithm>
#include <string>

#include "layout/digits.hpp"
#include "ptxloom/error.hpp"
#include "spec/database.hpp"

namespace ptxloom {

using namespace layout_digits;

namespace {

/// The axes that count rows and columns: the two of m, k, n that occur.
struct RowsAndColumns {
  char row = '\0', col = '\0';
};

RowsAndColumns axes_of(std::span<const std::vector<Digit>> parts) {
  RowsAndColumns axes;
  for (char axis : std::string_view("mkn")) {
    const bool occurs = std::any_of(parts.begin(), parts.end(), [&](const auto& digits) {
      return std::any_of(digits.begin(), digits.end(),
                         [&](const Digit& d) { return d.axis == axis && d.radix > 1; });
    });
    if (occurs) (axes.row == '\0' ? axes.row : axes.col) = axis;
  }
  return axes;
}

[[noreturn]] void no_layout(const Variant& variant, std::string_view operand) {
  throw Error(ErrorKind::usage, "no-layout",
              "the specs give no fragment map for operand '" + std::string(operand) + "' of " +
                  std::string(variant.opcode()));
}

}  // namespace

class LayoutMaker {
 public:
  LayoutMaker(const Variant& variant, std::string_view operand, std::span<const LayoutSelector> selectors)
      : variant_(variant), spec_(variant.operand(operand)), map_(variant.fragment(operand)) {
    if (map_.val.empty()) no_layout(variant, operand);
    parts_ = {parse(map_.lane), parse(map_.warp), parse(map_.val)};
    for (const LayoutSelector& selector : selectors) select(selector);
  }

  Layout make() {
    Layout layout;
    layout.type = element_type();
    layout.registers = spec_.registers();
    const int lanes = index_count(parts_[0]), values = index_count(parts_[2]);
    layout.lanes = lanes * index_count(parts_[1]);
    layout.bits = spec_.type.bits * layout.registers / values;
    const RowsAndColumns axes = axes_of(parts_);
    layout.first_of_lane_.push_back(0);
    for (int lane = 0; lane < layout.lanes; ++lane) {
      for (int value = 0; value < values; ++value) {
        Coordinates at;
        if (!add(parts_[0], lane % lanes, selected_, at) || !add(parts_[1], lane / lanes, selected_, at) ||
            !add(parts_[2], value, selected_, at)) {
          continue;
        }
        const int bit = value * layout.bits;
        layout.elements_.push_back({.lane = lane,
                                    .reg = bit / spec_.type.bits,
                                    .bit = bit % spec_.type.bits,
                                    .row = axes.row == '\0' ? 0 : at[axes.row],
                                    .col = axes.col == '\0' ? 0 : at[axes.col],
                                    .matrix = at['i']});
      }
      layout.first_of_lane_.push_back(layout.elements_.size());
    }
    index_holders(layout);
    add_addresses(layout);
    return layout;
  }

 private:
  void select(const LayoutSelector& selector) {
    for (const auto& part : parts_) {
      for (const Digit& digit : part) {
        if (digit.axis != '\0' || digit.selector != selector.operand) continue;
        if (selector.value >= 0 && selector.value < digit.radix) {
          selected_.push_back({selector.operand, selector.value});
          return;
        }
        throw Error(ErrorKind::usage, "bad-selector",
                    std::string(selector.operand) + "=" + std::to_string(selector.value) + " is out of range",
                    "it goes from 0 to " + std::to_string(digit.radix - 1));
      }
    }
    throw Error(ErrorKind::usage, "bad-selector",
                "the map of " + spec_.name + " does not depend on '" + std::string(selector.operand) + "'");
  }

  Type element_type() const {
    if (const auto type = find_type(map_.type)) return *type;
    const auto* const data = variant_.data()->form->vocabulary().type(map_.type);
    return data == nullptr ? spec_.type : data->type;
  }

  static void index_holders(Layout& layout) {
    for (const LayoutElement& e : layout.elements_) {
      layout.rows = std::max(layout.rows, e.row + 1);
      layout.cols = std::max(layout.cols, e.col + 1);
      layout.matrices = std::max(layout.matrices, e.matrix + 1);
    }
    layout.holder_.assign(static_cast<std::size_t>(layout.rows * layout.cols * layout.matrices), -1);
    for (std::size_t i = layout.elements_.size(); i-- > 0;) {
      const LayoutElement& e = layout.elements_[i];
      layout.holder_[static_cast<std::size_t>((e.matrix * layout.rows + e.row) * layout.cols + e.col)] =
          static_cast<std::int32_t>(i);
    }
  }

  /// An address operand with a map of lanes alone says where rows lie.
  void add_addresses(Layout& layout) const {
    for (const OperandSpec& operand : variant_.operands()) {
      if (operand.kind != OperandSpec::Kind::address) continue;
      const auto digits = parse(variant_.fragment(operand.name).lane);
      if (digits.empty()) continue;
      for (int lane = 0; lane < index_count(digits); ++lane) {
        Coordinates at;
        add(digits, lane, {}, at);
        layout.addresses_.push_back({.lane = lane, .matrix = at['i'], .row = at['m']});
      }
    }
  }

  const Variant& variant_;
  const OperandSpec& spec_;
  Variant::FragmentMap map_;
  std::vector<std::vector<Digit>> parts_;  // lane, warp, val
  std::vector<Selected> selected_;
};

std::optional<LayoutElement> Layout::find(int row, int col, int matrix) const {
  if (row < 0 || row >= rows || col < 0 || col >= cols || matrix < 0 || matrix >= matrices)
    return std::nullopt;
  const std::int32_t index = holder_[static_cast<std::size_t>((matrix * rows + row) * cols + col)];
  if (index < 0) return std::nullopt;
  return elements_[static_cast<std::size_t>(index)];
}

std::span<const LayoutElement> Layout::lane(int lane) const {
  const auto at = static_cast<std::size_t>(lane);
  return elements().subspan(first_of_lane_[at], first_of_lane_[at + 1] - first_of_lane_[at]);
}

Layout layout(const Variant& variant, std::string_view operand, std::span<const LayoutSelector> selectors) {
  return LayoutMaker(variant, operand, selectors).make();
}

Layout layout(const Variant& variant, std::string_view operand,
              std::initializer_list<LayoutSelector> selectors) {
  return layout(variant, operand, std::span(selectors.begin(), selectors.size()));
}

bool has_layout(const Variant& variant, std::string_view operand) {
  return !variant.fragment(operand).val.empty();
}

}  // namespace ptxloom
