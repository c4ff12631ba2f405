// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "ptxloom/layout.hpp"
#include "spec/fragment.hpp"

// Expands a fragment map to a Layout.
namespace ptxloom {

class LayoutMaker {
 public:
  /// The map of a value operand of the variant. Throws "bad-selector".
  LayoutMaker(const Variant& variant, const OperandSpec& operand, const Variant::FragmentMap& map,
              std::span<const LayoutSelector> selectors);
  Layout make() const;

 private:
  void select(const LayoutSelector& selector);
  void place_elements(Layout& layout) const;
  void add_addresses(Layout& layout) const;

  const Variant& variant_;
  const OperandSpec& operand_;
  spec::Fragment map_;
  Type type_;
  std::vector<spec::Selected> selected_;
};

}  // namespace ptxloom
