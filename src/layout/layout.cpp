// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/layout.hpp"

#include <algorithm>
#include <string>

#include "layout/maker.hpp"
#include "ptxloom/error.hpp"

namespace ptxloom {
namespace {

[[noreturn]] void no_layout(const Variant& variant, std::string_view operand) {
  std::string others;
  for (const OperandSpec& other : variant.operands()) {
    if (has_layout(variant, other.name)) others += " " + other.name;
  }
  throw Error(ErrorKind::usage, "no-layout",
              "the specs give no fragment map for operand '" + std::string(operand) + "' of " +
                  std::string(variant.opcode()),
              others.empty() ? "no operand of this instruction has one" : "operands that have one:" + others);
}

}  // namespace

void Layout::index_holders() {
  for (const LayoutElement& e : elements_) {
    rows = std::max(rows, e.row + 1);
    cols = std::max(cols, e.col + 1);
    matrices = std::max(matrices, e.matrix + 1);
  }
  holder_.assign(static_cast<std::size_t>(rows * cols * matrices), -1);
  for (std::size_t i = 0; i < elements_.size(); ++i) {
    const LayoutElement& e = elements_[i];
    first_of_lane_.resize(static_cast<std::size_t>(e.lane) + 1, i);
    holder_[item_of(e, static_cast<std::size_t>(cols))] = static_cast<std::int32_t>(i);
  }
  first_of_lane_.resize(static_cast<std::size_t>(lanes) + 1, elements_.size());
}

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

std::size_t Layout::checked_leading(Storage matrix, Storage packed, std::size_t leading) const {
  const auto refuse = [](const std::string& what, const std::string& hint) {
    throw Error(ErrorKind::usage, "bad-matrix", what, hint);
  };
  const auto width = static_cast<std::size_t>(cols);
  if (leading == 0) leading = width;
  const std::size_t items = static_cast<std::size_t>(rows * matrices - 1) * leading + width;
  if (leading < width || matrix.items < items) {
    refuse("a matrix of " + std::to_string(matrix.items) + " items with rows " + std::to_string(leading) +
               " apart is too small",
           "it needs " + std::to_string(rows * matrices) + " rows of " + std::to_string(cols));
  }
  const auto words = static_cast<std::size_t>(lanes * registers);
  if (matrix.bits < bits || packed.bits < register_bits || packed.items < words) {
    refuse("items of " + std::to_string(matrix.bits) + " bits and " + std::to_string(packed.items) +
               " registers of " + std::to_string(packed.bits) + " bits cannot hold the operand",
           "it has elements of " + std::to_string(bits) + " bits in " + std::to_string(words) +
               " registers of " + std::to_string(register_bits));
  }
  return leading;
}

Layout layout(const Variant& variant, std::string_view operand, std::span<const LayoutSelector> selectors) {
  if (!has_layout(variant, operand)) no_layout(variant, operand);
  return LayoutMaker(variant, variant.operand(operand), variant.fragment(operand), selectors).make();
}

Layout layout(const Variant& variant, std::string_view operand,
              std::initializer_list<LayoutSelector> selectors) {
  return layout(variant, operand, std::span(selectors.begin(), selectors.size()));
}

bool has_layout(const Variant& variant, std::string_view operand) {
  return variant.operand(operand).kind != OperandSpec::Kind::address && !variant.fragment(operand).empty();
}

}  // namespace ptxloom
