// SPDX-License-Identifier: Apache-2.0
#include "layout/maker.hpp"

#include <algorithm>
#include <string>

#include "ptxloom/error.hpp"
#include "spec/database.hpp"

namespace ptxloom {
namespace {

[[noreturn]] void out_of_range(const spec::Digit& selector, int value) {
  std::string values;
  for (int digit = 0; digit < selector.radix; ++digit)
    values += (digit == 0 ? "" : ", ") + std::to_string(digit * selector.stride);
  throw Error(ErrorKind::usage, "bad-selector",
              selector.selector + "=" + std::to_string(value) + " selects nothing", "it may be " + values);
}

}  // namespace

LayoutMaker::LayoutMaker(const Variant& variant, const OperandSpec& operand, const Variant::FragmentMap& map,
                         std::span<const LayoutSelector> selectors)
    : variant_(variant), operand_(operand), map_(parse_fragment(map, variant.data()->form->place())) {
  const auto* const type = variant.data()->form->vocabulary().type(map.type);
  type_ = type == nullptr ? operand.type : type->type;
  for (const LayoutSelector& selector : selectors) select(selector);
}

void LayoutMaker::select(const LayoutSelector& selector) {
  const std::string& name = variant_.operand(selector.operand).name;
  std::string known;
  for (const spec::Digit& digit : map_.selectors()) {
    known += (known.empty() ? "" : " ") + digit.selector;
    if (digit.selector != name) continue;
    if (spec::selected_digit(digit, selector.value) < 0) out_of_range(digit, selector.value);
    selected_.push_back({name, selector.value});
    return;
  }
  throw Error(ErrorKind::usage, "bad-selector", "the map of " + operand_.name + " does not depend on " + name,
              known.empty() ? "it depends on no operand" : "it depends on " + known);
}

Layout LayoutMaker::make() const {
  Layout layout;
  layout.type = type_;
  layout.bits = type_.bits;
  layout.block = map_.block;
  layout.lanes = map_.lanes();
  layout.registers = operand_.registers();
  layout.register_bits = operand_.type.bits;
  layout.stride = map_.stride != 0 ? map_.stride : layout.registers * layout.register_bits / map_.values();
  for (char axis : std::string_view(map_.block != 0 ? "mnk" : "mkn")) {
    if (map_.has(axis)) (layout.row_axis == '\0' ? layout.row_axis : layout.col_axis) = axis;
  }
  place_elements(layout);
  layout.index_holders();
  add_addresses(layout);
  return layout;
}

void LayoutMaker::place_elements(Layout& layout) const {
  const auto along = [](const spec::Coordinates& at, char axis) { return axis == '\0' ? 0 : at[axis]; };
  for (const spec::PlacedElement& element : spec::place_elements(map_, selected_)) {
    const int bit = element.value * layout.stride;
    layout.elements_.push_back({.lane = element.lane,
                                .reg = bit / layout.register_bits,
                                .bit = bit % layout.register_bits + map_.shift,
                                .row = along(element.at, layout.row_axis),
                                .col = along(element.at, layout.col_axis),
                                .matrix = element.at['i']});
  }
}

/// An address operand whose map has only lanes gives the positions of rows.
void LayoutMaker::add_addresses(Layout& layout) const {
  for (const OperandSpec& operand : variant_.operands()) {
    if (operand.kind != OperandSpec::Kind::address) continue;
    const Variant::FragmentMap map = variant_.fragment(operand.name);
    if (map.empty()) continue;
    for (const auto& row : spec::place_elements(parse_fragment(map, variant_.data()->form->place()), {}))
      layout.addresses_.push_back({.lane = row.lane, .matrix = row.at['i'], .row = row.at['m']});
  }
}

}  // namespace ptxloom
