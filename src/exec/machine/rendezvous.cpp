// SPDX-License-Identifier: Apache-2.0
#include "exec/machine/rendezvous.hpp"

#include <vector>

#include "exec/judge/judge.hpp"
#include "exec/machine/block.hpp"
#include "exec/machine/code.hpp"
#include "exec/machine/grid.hpp"
#include "exec/machine/warp.hpp"
#include "exec/memory/element.hpp"

namespace ptxloom::exec {
namespace {

/// Lanes that are at an operation.
struct Waiting {
  const Operation* op;
  Mask lanes;
};

// Copies a register of these lanes, with its undefined bits.
void copy(Warp& warp, Mask lanes, const Slot& from, const Slot& to) {
  std::byte* const file = warp.registers();
  if (from.bytes == 0) {
    Lanes<bool>(file, to).set(lanes, Lanes<bool>(file, from).mask());
  } else {
    for_lanes(lanes, [&](int lane) { write_element(file, to, lane, read_element(file, from, lane)); });
  }
  Judge* const judge = warp.judge();
  if (judge == nullptr) return;
  RegisterShadow& shadow = judge->registers_of(warp);
  for_lanes(lanes, [&](int lane) { shadow.set(to, lane, shadow.undefined(from, lane)); });
}

// The same slots of the operations of all lanes, and of the one that is executed for all.
template <class F>
void for_slots(const Code& code, const Operation& together, OperandSpec::Direction direction, F f) {
  const auto specs = code.function_of(together).instructions[together.instruction].variant.operands();
  for (std::size_t i = 0; i < together.slots.size(); ++i)
    if (specs[i].direction == direction) f(i);
}

// A result that depends on the operands of all lanes is undefined if any of them is.
void undefine_results(Warp& warp, const Operation& together, Mask lanes) {
  Judge* const judge = warp.judge();
  const Grid& grid = warp.block().grid();
  const Code& code = grid.code();
  if (judge == nullptr || grid.flows()[code.number_of(together)].rule != FlowRule::collective) return;
  RegisterShadow& shadow = judge->registers_of(warp);
  bool undefined = false;
  for_slots(code, together, OperandSpec::Direction::in, [&](std::size_t i) {
    for_lanes(lanes, [&](int lane) { undefined |= shadow.undefined(together.slots[i], lane) != 0; });
  });
  for_slots(code, together, OperandSpec::Direction::out, [&](std::size_t i) {
    for_lanes(lanes,
              [&](int lane) { shadow.set(together.slots[i], lane, undefined ? ~std::uint64_t{0} : 0); });
  });
}

void execute_together(Warp& warp, const Operation& together, const std::vector<Waiting>& all_waiting,
                      Mask all) {
  const Code& code = warp.block().grid().code();
  for_slots(code, together, OperandSpec::Direction::in, [&](std::size_t i) {
    for (const Waiting& waiting : all_waiting)
      copy(warp, waiting.lanes, waiting.op->slots[i], together.slots[i]);
  });
  together.run(warp, together, all);
  undefine_results(warp, together, all);
  for_slots(code, together, OperandSpec::Direction::out, [&](std::size_t i) {
    for (const Waiting& waiting : all_waiting)
      copy(warp, waiting.lanes, together.slots[i], waiting.op->slots[i]);
  });
}

}  // namespace

bool meet_elsewhere(Warp& warp, const Operation& op, Mask lanes, Mask named, std::size_t slot) {
  if (op.together == 0) return false;
  const std::vector<Operation>& operations = warp.block().grid().code().operations;
  std::vector<Waiting> all_waiting{{&op, lanes}};
  Mask come = lanes;
  for (const Group& group : warp.flow().parked()) {
    const Operation& other = operations[group.pc - 1];
    if (!group.again || other.together != op.together) continue;
    const Lanes<Mask> masks(warp.registers(), other.slots[slot]);
    Waiting waiting{&other, 0};
    for_lanes(group.lanes, [&](int lane) { waiting.lanes |= Mask{masks[lane] == named} << lane; });
    come |= waiting.lanes;
    all_waiting.push_back(waiting);
  }
  if ((named & warp.flow().live() & ~come) != 0) return false;
  execute_together(warp, operations[op.together], all_waiting, come);
  warp.flow().continue_after(come & ~lanes);
  return true;
}

}  // namespace ptxloom::exec
