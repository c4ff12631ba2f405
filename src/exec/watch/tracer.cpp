// SPDX-License-Identifier: Apache-2.0
#include "exec/watch/tracer.hpp"

#include <array>
#include <cstring>
#include <utility>

#include "exec/machine/block.hpp"
#include "exec/memory/element.hpp"
#include "ir/naming.hpp"

namespace ptxloom::exec {
namespace {

std::size_t size_of(const Slot& slot) {
  return slot.bytes == 0 ? sizeof(Mask) : slot.bytes * std::size_t{kLanes};
}

std::uint64_t value_of(std::byte* file, const Slot& slot, int lane) {
  return slot.bytes == 0 ? std::uint64_t{Lanes<bool>(file, slot)[lane]} : read_element(file, slot, lane);
}

// The difference between two register files in one row of lanes.
Change change_of(std::string name, int bits, const Slot& slot, std::byte* before, std::byte* after) {
  Change change{.name = std::move(name), .bits = bits};
  const std::uint64_t mask = bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  Slot old = slot;
  old.offset = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    const std::uint64_t value = value_of(after, slot, lane) & mask;
    change.values[static_cast<std::size_t>(lane)] = value;
    change.lanes |= Mask{value != (value_of(before, old, lane) & mask)} << lane;
  }
  return change;
}

}  // namespace

void Tracer::keep(Warp& warp, const Operation& op, const ir::Operand& operand,
                  std::vector<Written>& written) const {
  const ir::Function& function = grid_->code().function_of(op);
  if (operand.kind == ir::Operand::Kind::vector) {
    for (const ir::Operand& element : function.elements_of(operand)) keep(warp, op, element, written);
  } else if (operand.kind == ir::Operand::Kind::reg) {
    const Slot& slot = grid_->code().register_slots[op.function][operand.index];
    const std::byte* begin = warp.registers() + slot.offset;
    written.push_back({.reg = &function.registers[operand.index],
                       .slot = slot,
                       .before = std::vector<std::byte>(begin, begin + size_of(slot))});
  }
}

void Tracer::begin(Warp& warp, const Operation& op, Mask lanes) {
  end();
  add(warp, op, lanes);
}

void Tracer::add(Warp& warp, const Operation& op, Mask lanes) {
  const Launch& launch = grid_->launch();
  if (launch.traced && !launch.traced(warp.block().index(), warp.index())) return;
  const ir::Function& function = grid_->code().function_of(op);
  const ir::Instruction& instruction = function.instructions[op.instruction];
  Pending& pending = pending_.emplace_back(Pending{.warp = &warp,
                                                   .step = {.kernel = function,
                                                            .instruction = instruction,
                                                            .block = warp.block().index(),
                                                            .warp = warp.index(),
                                                            .lanes = lanes},
                                                   .written = {}});
  const auto specs = instruction.variant.operands();
  const auto operands = function.operands_of(instruction);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (specs[i].direction != OperandSpec::Direction::in) keep(warp, op, operands[i], pending.written);
  }
}

void Tracer::end() {
  for (Pending& done : std::exchange(pending_, {})) report(done);
}

void Tracer::report(Pending& done) const {
  std::byte* file = done.warp->registers();
  const auto add = [&](std::string name, int bits, const Slot& slot, std::byte* before) {
    Change change = change_of(std::move(name), bits, slot, before, file);
    if (change.lanes != 0) done.step.changes.push_back(std::move(change));
  };
  for (Written& each : done.written) {
    const std::string name = ir::name_of(*each.reg);
    if (each.slot.bytes != 16) {
      add(name, each.slot.bytes == 0 ? 1 : each.reg->type.bits, each.slot, each.before.data());
      continue;
    }
    const auto halves = rows_of(std::span(&each.slot, 1), true);
    add(name + ".lo", 64, halves[0], each.before.data());
    add(name + ".hi", 64, halves[1], each.before.data() + 8 * kLanes);
  }
  grid_->launch().trace(done.step);
}

}  // namespace ptxloom::exec
