// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "ptxloom/specs.hpp"
#include "spec/digits.hpp"
#include "spec/form_data.hpp"
#include "spec/template.hpp"

// Fragment maps ("frags" in specs/README.md): the positions of an operand's elements. A form's map is a
// template until a variant fills its slots; then it consists of digits for warp, lane and the values of a
// lane, and `place_elements` expands it.
namespace ptxloom::spec {

class FragmentTemplate {
 public:
  FragmentTemplate(const FragmentData& data, SlotNames& slots, Place place);

  bool is_of(std::string_view operand) const;
  /// Empty if a slot of `lane` is absent: this is how a form has no map for some of its rows.
  Variant::FragmentMap fill(Values values) const;

 private:
  std::vector<std::string_view> operands_;
  Template type_, warp_, lane_, val_, bits_, block_;
};

struct Fragment {
  std::vector<Digit> warp, lane, val;
  int stride = 0;  // bits from the start of one element to the next; 0: they fill the registers
  int shift = 0;   // padding bits below an element
  int block = 0;   // elements of k per scale factor; 0: not a map of scale factors

  int lanes() const { return index_count(warp) * index_count(lane); }
  int values() const { return index_count(val); }
  /// Whether any digit counts along the axis.
  bool has(char axis) const;
  std::vector<Digit> selectors() const;
};

/// Throws "spec-fragment" if the map is malformed.
Fragment parse_fragment(const Variant::FragmentMap& map, Place place);

struct PlacedElement {
  int lane = 0;   // 32 * warp + lane
  int value = 0;  // index among the values of the lane
  Coordinates at;
};

/// The elements that the selectors allow, by lane, then by value.
std::vector<PlacedElement> place_elements(const Fragment& fragment, std::span<const Selected> selected);

}  // namespace ptxloom::spec
