// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "ptxloom/specs.hpp"
#include "spec/digits.hpp"
#include "spec/form_data.hpp"
#include "spec/template.hpp"

// Fragment maps ("frags" in specs/README.md): where the elements of an operand lie. A form's map is a
// template until a variant fills its slots; then it is digits over warp, lane and the values that a lane
// holds, and `place_elements` writes it out.
namespace ptxloom::spec {

class FragmentTemplate {
 public:
  FragmentTemplate(const FragmentData& data, SlotNames& slots, Place place);

  bool is_of(std::string_view operand) const;
  /// Empty where a slot of `lane` is absent: so a form gives no map for some of its rows.
  Variant::FragmentMap fill(Values values) const;

 private:
  std::vector<std::string_view> operands_;
  Template type_, warp_, lane_, val_, bits_, block_;
};

struct Fragment {
  std::vector<Digit> warp, lane, val;
  int stride = 0;  // bits from the beginning of an element to that of the next; 0: they fill the registers
  int shift = 0;   // bits below an element that belong to it and are padding
  int block = 0;   // elements of k that a scale factor is for; 0: no map of scale factors

  int lanes() const { return index_count(warp) * index_count(lane); }
  int values() const { return index_count(val); }
  /// Whether something is counted along the axis.
  bool has(char axis) const;
  std::vector<Digit> selectors() const;
};

/// Throws "spec-fragment" for what cannot be understood.
Fragment parse_fragment(const Variant::FragmentMap& map, Place place);

struct PlacedElement {
  int lane = 0;   // 32 * warp + lane
  int value = 0;  // which of the values that the lane holds
  Coordinates at;
};

/// The elements that the selectors allow, by lane, then by value.
std::vector<PlacedElement> place_elements(const Fragment& fragment, std::span<const Selected> selected);

}  // namespace ptxloom::spec
