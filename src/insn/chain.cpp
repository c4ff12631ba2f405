// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "conform/around.hpp"
#include "insn/chain.hpp"

namespace ptxloom::insn {

int register_bits(const OperandSpec& operand) {
  if (operand.type == pred) return 1;
  const int bits = 8 * std::max(operand.type.whole_bytes(), 1);
  return operand.wider_allowed && !operand.type.is_float() ? std::max(bits, 32) : std::max(bits, 8);
}

bool is_register(const OperandSpec& operand) {
  return operand.kind == OperandSpec::Kind::value && operand.registers_allowed;
}

std::string given_text(const Row& row, const OperandSpec& operand) {
  const auto given = row.rule->operands.find(operand.name);
  return given == row.rule->operands.end() ? "" : given->second;
}

int result_of(const Row& row) {
  const auto operands = row.variant.operands();
  int predicate = -1;
  for (int i = 0; i < static_cast<int>(operands.size()); ++i) {
    const OperandSpec& operand = operands[static_cast<std::size_t>(i)];
    if (!is_register(operand) || operand.direction == OperandSpec::Direction::in) continue;
    if (operand.type != pred) return i;
    if (predicate < 0) predicate = i;
  }
  return predicate;
}

int address_bits(const Row& row, const OperandSpec& operand) {
  const std::string text = conform_kernels::address_text(row.variant, operand);
  return text.find("_shared") != text.npos ? 32 : 64;
}

bool loads_only(const Row& row) {
  if (row.rule->masked && has_all(row.variant, *row.rule->masked)) return false;
  return std::ranges::none_of(row.variant.operands(), [&](const OperandSpec& operand) {
    return is_register(operand) && operand.direction != OperandSpec::Direction::out &&
           given_text(row, operand).empty() && row.variant.conform(operand.name) != "hint";
  });
}

std::vector<Chain> chains(const Row& row) {
  const int result = result_of(row);
  if (result < 0) return {};
  const auto operands = row.variant.operands();
  const OperandSpec& from = operands[static_cast<std::size_t>(result)];
  std::vector<Chain> all;
  for (int i = 0; i < static_cast<int>(operands.size()); ++i) {
    const OperandSpec& to = operands[static_cast<std::size_t>(i)];
    Chain chain{.operand = i, .name = to.name};
    if (!row.rule->chain.empty() && !row.rule->chain.contains(to.name)) continue;
    if (is_register(to) && to.direction != OperandSpec::Direction::out) {
      // Where the result is defined for some values only, another result may not be an operand.
      const bool demand = !row.variant.conform(to.name).empty() && !row.rule->operands.contains(to.name);
      if (i != result && (demand || !given_text(row, to).empty())) continue;
      chain.bridged = i != result && register_bits(from) != register_bits(to);
      all.push_back(chain);
    } else if (to.kind == OperandSpec::Kind::address && given_text(row, to).empty()) {
      chain.bridged = !loads_only(row) || from.type.bits < 32 || register_bits(from) != address_bits(row, to);
      all.push_back(chain);
    }
  }
  std::ranges::stable_sort(all, {}, &Chain::bridged);
  return all;
}

}  // namespace ptxloom::insn
