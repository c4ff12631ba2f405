// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "conform/around.hpp"
#include "insn/chain.hpp"

namespace ptxloom::insn {
namespace {

/// A power of two of at least `bytes`.
int slot_for(int bytes) {
  int slot = 4;
  while (slot < bytes) slot *= 2;
  return slot;
}

}  // namespace

Frame frame_of(const Row& row) {
  Frame frame;
  int offset = 0, memory = 4;
  std::string addresses = row.rule->before + row.rule->round + row.rule->then + row.rule->end;
  const auto operands = row.variant.operands();
  for (int i = 0; i < static_cast<int>(operands.size()); ++i) {
    const OperandSpec& operand = operands[static_cast<std::size_t>(i)];
    if (operand.kind == OperandSpec::Kind::address) {
      addresses += conform_kernels::address_text(row.variant, operand);
      if (!row.variant.fragment(operand.name).lane.empty()) memory = std::max(memory, 16);
    }
    if (!is_register(operand)) continue;
    const int bytes = std::max(register_bits(operand), 32) / 8;
    if (row.variant.conform(operand.name) != "hint")
      memory = std::max(memory, operand.type.whole_bytes() * operand.registers());
    if (operand.direction == OperandSpec::Direction::out || !given_text(row, operand).empty()) continue;
    for (int e = 0; e < operand.registers(); ++e) {
      offset = (offset + bytes - 1) / bytes * bytes;
      frame.fields.push_back(
          {.operand = i, .element = e, .type = operand.type, .bytes = bytes, .offset = offset});
      offset += bytes;
    }
  }
  frame.lane_bytes = (offset + 16 + 15) / 16 * 16;
  frame.slot_bytes = row.rule->slot > 0 ? row.rule->slot : std::min(slot_for(memory), 128);
  frame.cluster = addresses.find("_peer") != addresses.npos ? 2 : 1;
  frame.generic = addresses.find("_shared") == addresses.npos;
  frame.addresses = result_of(row) >= 0 && loads_only(row);
  if (frame.addresses && frame.generic) frame.slot_bytes = std::max(frame.slot_bytes, 8);
  return frame;
}

}  // namespace ptxloom::insn
