// SPDX-License-Identifier: Apache-2.0
#include "spec/fragment_lint.hpp"

#include <algorithm>
#include <cstdint>
#include <set>

namespace ptxloom::spec {
namespace {

constexpr int kLanes = 32, kWarps = 4;  // per warp, per warpgroup

std::string text(std::size_t number) { return std::to_string(number); }
std::string text(int number) { return std::to_string(number); }

/// The number of coordinates along an axis: 1 if the map does not mention it.
class Extents {
 public:
  explicit Extents(std::span<const PlacedElement> elements) {
    for (const PlacedElement& element : elements) {
      for (char axis : kAxes) largest_[axis] = std::max(largest_[axis], element.at[axis]);
    }
  }
  std::size_t operator[](char axis) const { return static_cast<std::size_t>(largest_[axis]) + 1; }
  /// Whether there are more elements than this in total.
  bool exceed(std::size_t elements) const {
    std::size_t product = 1;
    for (char axis : kAxes) {
      product *= (*this)[axis];
      if (product > elements) return true;
    }
    return false;
  }
  std::size_t index(const Coordinates& at) const {
    std::size_t index = 0;
    for (char axis : kAxes) index = index * (*this)[axis] + static_cast<std::size_t>(at[axis]);
    return index;
  }

 private:
  Coordinates largest_;
};

/// Checks that each position occurs once and none is missing.
std::string fault_of_places(std::span<const PlacedElement> elements) {
  const Extents extents(elements);
  if (extents.exceed(elements.size()))
    return "it has gaps: " + text(elements.size()) + " elements do not fill the rows and columns";
  std::vector<bool> held(elements.size());
  for (const PlacedElement& element : elements) {
    const std::size_t index = extents.index(element.at);
    if (held[index]) return "lane " + text(element.lane) + " holds an element that is already held elsewhere";
    held[index] = true;
  }
  return {};
}

/// The values that an immediate may have; empty if any is allowed.
std::vector<int> values_of(const OperandSpec& operand) {
  std::vector<int> values(operand.choices.begin(), operand.choices.end());
  if (values.empty() && operand.range) {
    const auto last = std::min<std::int64_t>(operand.range->second, operand.range->first + kMostIndices);
    for (auto v = operand.range->first; v <= last; v += operand.step) values.push_back(static_cast<int>(v));
  }
  return values;
}

/// Checks that every value of the operand selects a digit, and every digit is selected by one.
std::string fault_of_selector(Variant variant, const Digit& selector) {
  const int index = variant.operand_index(selector.selector);
  if (index < 0) return "its selector '" + selector.selector + "' is not an operand";
  const OperandSpec& operand = variant.operands()[static_cast<std::size_t>(index)];
  if (operand.registers_allowed || variant.undocumented()) return {};
  std::set<int> digits;
  for (int value : values_of(operand)) {
    const int digit = selected_digit(selector, value);
    if (digit < 0) return operand.name + " may be " + text(value) + ", which selects nothing";
    digits.insert(digit);
  }
  if (static_cast<int>(digits.size()) == selector.radix) return {};
  return "no value of " + operand.name + " selects some of its " + text(selector.radix) + " digits";
}

/// Checks that the map fills the operand's registers exactly.
std::string fault_of_size(const OperandSpec& operand, const Fragment& map, const TypeData* type) {
  if (map.lane.empty() || index_count(map.lane) != kLanes)
    return "a warp has 32 lanes, not " + text(index_count(map.lane));
  if (const int warps = index_count(map.warp); warps != 1 && warps != kWarps)
    return "a warpgroup has 4 warps, not " + text(warps);
  if (type == nullptr) return "its type is not in types.json";
  const int have = operand.registers() * operand.type.bits;
  if (operand.kind != OperandSpec::Kind::value || !operand.registers_allowed || have == 0)
    return "its operand is not a register";
  const int stride = map.stride != 0 ? map.stride : have / map.values();
  if (stride * map.values() != have) {
    return "the operand has " + text(have) + " bits in a lane, but its " + text(map.values()) +
           " values take " + text(stride * map.values());
  }
  if (operand.type.bits % stride != 0) return "an element is in two registers";
  const int used = map.shift + type->type.bits;
  if (used > stride || (map.stride == 0 && used != stride)) {
    return "an element of " + text(type->type.bits) + " bits at bit " + text(map.shift) + " does not fit " +
           text(stride) + " bits";
  }
  return {};
}

/// For an address: each of its lanes must give the position of one row of one matrix of the other operand.
std::string fault_of_addresses(Variant variant, const Fragment& map) {
  if (map.lanes() > kLanes || map.values() > 1) return "a warp has 32 lanes, not " + text(map.lanes());
  const auto rows = place_elements(map, {});
  for (const OperandSpec& other : variant.operands()) {
    const Variant::FragmentMap of_other = variant.fragment(other.name);
    if (other.kind == OperandSpec::Kind::address || of_other.empty()) continue;
    const std::string fault = fragment_fault(variant, other, of_other);
    if (!fault.empty()) return "that of " + other.name + " is: " + fault;
    const Extents wanted(place_elements(parse_fragment(of_other, {}), {})), given(rows);
    if (given['i'] != wanted['i'] || given['m'] != wanted['m'])
      return "it does not give the address of each row of " + other.name;
  }
  return fault_of_places(rows);
}

/// What a fault depends on: the map, its operand, and the selecting operands.
std::string identity(Variant variant, const OperandSpec& operand, const Variant::FragmentMap& map) {
  std::string key = operand.name + '|' + operand.describe() + '|' + map.type + '|' + map.warp + '|' +
                    map.lane + '|' + map.val + '|' + map.bits + '|' + map.block;
  if (key.find('=') == key.npos) return key;
  for (const OperandSpec& other : variant.operands()) key += '|' + other.describe();
  return key;
}

}  // namespace

std::string fragment_fault(Variant variant, const OperandSpec& operand, const Variant::FragmentMap& map) {
  const Form& form = *variant.data()->form;
  const Fragment fragment = parse_fragment(map, form.place());
  if (operand.kind == OperandSpec::Kind::address) return fault_of_addresses(variant, fragment);
  if (fragment.has('m') && fragment.has('k') && fragment.has('n'))
    return "a matrix has two of the axes m k n";
  std::string fault = fault_of_size(operand, fragment, form.vocabulary().type(map.type));
  for (const Digit& selector : fragment.selectors()) {
    if (fault.empty()) fault = fault_of_selector(variant, selector);
  }
  return fault.empty() ? fault_of_places(place_elements(fragment, {})) : fault;
}

void lint_fragments(FormVariants& variants) {
  if (variants.form().fragments().empty()) return;
  std::set<std::string> seen;
  for (const Variant& variant : variants.all()) {
    for (const OperandSpec& operand : variant.operands()) {
      const Variant::FragmentMap map = variant.fragment(operand.name);
      if (map.empty()) continue;
      if (!seen.insert(identity(variant, operand, map)).second) continue;
      const std::string fault = fragment_fault(variant, operand, map);
      if (fault.empty()) continue;
      fail("spec-fragment", variants.form().place(),
           "the fragment map of " + operand.name + " in " + quote(variant.opcode()) + " is wrong: " + fault);
    }
  }
}

}  // namespace ptxloom::spec
