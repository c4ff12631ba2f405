// SPDX-License-Identifier: Apache-2.0
#include "spec/fragment.hpp"

#include <algorithm>
#include <charconv>

#include "spec/cell.hpp"

namespace ptxloom::spec {
namespace {

int number(std::string_view text, std::string_view field, Place place) {
  int value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  if (whole && value >= 0 && value <= kMostDigits) return value;
  fail("spec-fragment", place, quote(text) + " is not a number for '" + std::string(field) + "'",
       "write \"bits\": \"8+2\" for elements 8 bits apart that begin at bit 2 of those, \"block\": \"32\"");
}

}  // namespace

FragmentTemplate::FragmentTemplate(const FragmentData& data, SlotNames& slots, Place place)
    : operands_(split(data.operands, ' ')),
      type_(Template::parse(data.type, slots, place)),
      warp_(Template::parse(data.warp, slots, place)),
      lane_(Template::parse(data.lane, slots, place)),
      val_(Template::parse(data.val, slots, place)),
      bits_(Template::parse(data.bits, slots, place)),
      block_(Template::parse(data.block, slots, place)) {}

bool FragmentTemplate::is_of(std::string_view operand) const {
  return std::find(operands_.begin(), operands_.end(), operand) != operands_.end();
}

Variant::FragmentMap FragmentTemplate::fill(Values values) const {
  const std::vector<int> slots = lane_.slots();
  const auto absent = [&](int slot) { return values[static_cast<std::size_t>(slot)] == kAbsent; };
  if (std::any_of(slots.begin(), slots.end(), absent)) return {};
  const auto render = [&](const Template& text) {
    std::string filled = text.render(values);
    std::replace(filled.begin(), filled.end(), ',', ' ');  // a slot gives several digits as "2*m1,4*n1"
    return filled;
  };
  return {.type = render(type_),
          .warp = render(warp_),
          .lane = render(lane_),
          .val = render(val_),
          .bits = render(bits_),
          .block = render(block_)};
}

bool Fragment::has(char axis) const {
  const auto counts = [&](const std::vector<Digit>& digits) {
    return std::any_of(digits.begin(), digits.end(), [&](const Digit& digit) { return digit.axis == axis; });
  };
  return counts(warp) || counts(lane) || counts(val);
}

std::vector<Digit> Fragment::selectors() const {
  std::vector<Digit> found;
  for (const auto* part : {&warp, &lane, &val}) {
    std::copy_if(part->begin(), part->end(), std::back_inserter(found),
                 [](const Digit& digit) { return digit.axis == '\0'; });
  }
  return found;
}

Fragment parse_fragment(const Variant::FragmentMap& map, Place place) {
  Fragment fragment{.warp = parse_digits(map.warp, place),
                    .lane = parse_digits(map.lane, place),
                    .val = parse_digits(map.val, place)};
  if (!map.bits.empty()) {
    const std::string_view bits = map.bits;
    const std::size_t plus = bits.find('+');
    fragment.stride = number(bits.substr(0, plus), "bits", place);
    if (plus != bits.npos) fragment.shift = number(bits.substr(plus + 1), "bits", place);
  }
  if (!map.block.empty()) fragment.block = number(map.block, "block", place);
  return fragment;
}

std::vector<PlacedElement> place_elements(const Fragment& fragment, std::span<const Selected> selected) {
  std::vector<PlacedElement> elements;
  const int lanes = index_count(fragment.lane), values = fragment.values();
  for (int lane = 0; lane < fragment.lanes(); ++lane) {
    Coordinates of_lane;
    if (!add_coordinates(fragment.lane, lane % lanes, selected, of_lane)) continue;
    if (!add_coordinates(fragment.warp, lane / lanes, selected, of_lane)) continue;
    for (int value = 0; value < values; ++value) {
      PlacedElement element{.lane = lane, .value = value, .at = of_lane};
      if (add_coordinates(fragment.val, value, selected, element.at)) elements.push_back(element);
    }
  }
  return elements;
}

}  // namespace ptxloom::spec
