// SPDX-License-Identifier: Apache-2.0
#include "exec/matrix/fragment.hpp"

#include <fmt/format.h>

#include <utility>

namespace ptxloom::exec {
namespace {

Layout layout_of(const Decoder& decoder, std::string_view operand,
                 std::span<const LayoutSelector> selectors) {
  if (!has_layout(decoder.variant(), operand)) {
    decoder.unsupported(fmt::format("the specs have no fragment map of {}", operand));
  }
  return layout(decoder.variant(), operand, selectors);
}

/// The values that the specs allow for an operand; {0} for the operand "".
std::vector<int> values_of(const Variant& variant, std::string_view operand) {
  if (operand.empty()) return {0};
  const OperandSpec& spec = variant.operand(operand);
  std::vector<int> values(spec.choices.begin(), spec.choices.end());
  if (!values.empty() || !spec.range) return values;
  for (std::int64_t value = spec.range->first; value <= spec.range->second; value += spec.step)
    values.push_back(static_cast<int>(value));
  return values;
}

}  // namespace

Fragment::Fragment(const Decoder& decoder, std::string_view operand, bool transposed,
                   std::span<const LayoutSelector> selectors)
    : Fragment(layout_of(decoder, operand, selectors), transposed) {}

Fragment::Fragment(const Layout& layout, bool transposed)
    : type_(layout.type),
      rows_(layout.rows),
      cols_(layout.cols),
      matrices_(layout.matrices),
      element_bits_(layout.bits),
      registers_(static_cast<std::size_t>(layout.registers)) {
  positions_.resize(static_cast<std::size_t>(matrices_ * rows_ * cols_));
  for (const LayoutElement& e : layout.elements()) {
    const int place = transposed ? e.col * rows_ + e.row : e.row * cols_ + e.col;
    positions_[static_cast<std::size_t>(e.matrix * rows_ * cols_ + place)] = {
        .reg = static_cast<std::uint16_t>(e.lane / kLanes * layout.registers + e.reg),
        .lane = static_cast<std::uint8_t>(e.lane % kLanes),
        .bit = static_cast<std::uint8_t>(e.bit)};
  }
  find_elements();
}

Fragment::Fragment(const Type& type, int rows, int cols, int registers, std::vector<Position> positions)
    : type_(type),
      rows_(rows),
      cols_(cols),
      element_bits_(type.bits),
      registers_(static_cast<std::size_t>(registers)),
      positions_(std::move(positions)) {
  find_elements();
}

void Fragment::find_elements() {
  constexpr auto kNone = ~std::uint32_t{0};
  std::size_t registers = 0;
  for (const Position& at : positions_) registers = std::max(registers, at.reg + std::size_t{1});
  if (element_bits_ != 32 || positions_.size() != registers * kLanes) return;
  std::vector<std::uint32_t> elements(positions_.size(), kNone);
  for (std::size_t i = 0; i < positions_.size(); ++i) {
    const Position& at = positions_[i];
    elements[at.reg * std::size_t{kLanes} + at.lane] = static_cast<std::uint32_t>(i);
  }
  if (std::ranges::find(elements, kNone) == elements.end()) elements_ = std::move(elements);
}

SelectedFragment::SelectedFragment(const Decoder& decoder, std::string_view operand, std::string_view first,
                                   std::string_view second) {
  // A map need not depend on an operand that the instruction has; then it has the single value 0.
  const auto selectors_of = [&](int a, int b) {
    const std::string map =
        decoder.variant().fragment(operand).lane + decoder.variant().fragment(operand).val;
    std::vector<LayoutSelector> selectors;
    for (const auto& [name, value] : {std::pair(first, a), std::pair(second, b)}) {
      if (!name.empty() && map.find(fmt::format("={}", name)) != std::string::npos)
        selectors.push_back({.operand = name, .value = value});
    }
    return selectors;
  };
  for (const int a : values_of(decoder.variant(), first)) {
    for (const int b : values_of(decoder.variant(), second)) {
      fragments_.emplace(std::pair(static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b)),
                         Fragment(decoder, operand, false, selectors_of(a, b)));
    }
  }
}

const Fragment* SelectedFragment::find(std::uint32_t first, std::uint32_t second) const {
  const auto found = fragments_.find({first, second});
  return found == fragments_.end() ? nullptr : &found->second;
}

}  // namespace ptxloom::exec
