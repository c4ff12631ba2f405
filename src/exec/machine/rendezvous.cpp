// SPDX-License-Identifier: Apache-2.0
#include "exec/machine/rendezvous.hpp"

#include <span>
#include <vector>

#include "exec/judge/judge.hpp"
#include "exec/machine/block.hpp"
#include "exec/machine/code.hpp"
#include "exec/machine/grid.hpp"
#include "exec/machine/warp.hpp"
#include "exec/memory/element.hpp"
#include "exec/watch/tracer.hpp"

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

const Variant& variant_of(const Code& code, const Operation& op) {
  return code.function_of(op).instructions[op.instruction].variant;
}

// Calls f with the operand of the operation that is executed for all of the lanes, and those that these lanes
// have in its place: of an instruction without a second result, `%x` where others have `%x|%p`, none.
template <class F>
void for_operands(const Code& code, const Operation& together, const std::vector<Waiting>& all_waiting,
                  OperandSpec::Direction direction, F f) {
  const auto specs = variant_of(code, together).operands();
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (specs[i].direction != direction) continue;
    for (const Waiting& waiting : all_waiting) {
      const int operand = variant_of(code, *waiting.op).operand_index(specs[i].name);
      if (operand >= 0)
        f(together.slot(i), waiting.op->slot(static_cast<std::size_t>(operand)), waiting.lanes);
    }
  }
}

// A result that depends on the operands of all lanes is undefined if any of them is.
void undefine_results(Warp& warp, const Operation& together, const std::vector<Waiting>& all_waiting) {
  Judge* const judge = warp.judge();
  const Grid& grid = warp.block().grid();
  const Code& code = grid.code();
  if (judge == nullptr || grid.flows()[code.number_of(together)].rule != FlowRule::collective) return;
  RegisterShadow& shadow = judge->registers_of(warp);
  bool undefined = false;
  for_operands(code, together, all_waiting, OperandSpec::Direction::in,
               [&](const Slot& slot, const Slot&, Mask lanes) {
                 for_lanes(lanes, [&](int lane) { undefined |= shadow.undefined(slot, lane) != 0; });
               });
  for_operands(code, together, all_waiting, OperandSpec::Direction::out,
               [&](const Slot& slot, const Slot&, Mask lanes) {
                 for_lanes(lanes,
                           [&](int lane) { shadow.set(slot, lane, undefined ? ~std::uint64_t{0} : 0); });
               });
}

void execute_together(Warp& warp, const Operation& together, const std::vector<Waiting>& all_waiting,
                      Mask all) {
  const Code& code = warp.block().grid().code();
  for_operands(code, together, all_waiting, OperandSpec::Direction::in,
               [&](const Slot& slot, const Slot& theirs, Mask lanes) { copy(warp, lanes, theirs, slot); });
  together.run(warp, together, all);
  undefine_results(warp, together, all_waiting);
  for_operands(code, together, all_waiting, OperandSpec::Direction::out,
               [&](const Slot& slot, const Slot& theirs, Mask lanes) { copy(warp, lanes, slot, theirs); });
}

// The member mask is the last operand of all these instructions.
const Slot& member_mask(const Operation& op) { return op.slots.back(); }

}  // namespace

bool meet_elsewhere(Warp& warp, const Operation& op, Mask lanes, Mask named) {
  if (op.together == 0) return false;
  const std::vector<Operation>& operations = warp.block().grid().code().operations;
  std::vector<Waiting> all_waiting{{&op, lanes}};
  Mask come = lanes;
  for (const Group& group : warp.flow().parked()) {
    const Operation& other = operations[group.pc - 1];
    if (!group.again || other.together != op.together) continue;
    const Lanes<Mask> masks(warp.registers(), member_mask(other));
    Waiting waiting{&other, 0};
    for_lanes(group.lanes, [&](int lane) { waiting.lanes |= Mask{masks[lane] == named} << lane; });
    if (waiting.lanes == 0) continue;
    come |= waiting.lanes;
    all_waiting.push_back(waiting);
  }
  if ((named & warp.flow().live() & ~come) != 0) return false;
  if (Tracer* const tracer = warp.tracer())
    for (const Waiting& waiting : std::span(all_waiting).subspan(1))
      tracer->add(warp, *waiting.op, waiting.lanes);
  execute_together(warp, operations[op.together], all_waiting, come);
  warp.flow().continue_after(come & ~lanes);
  return true;
}

}  // namespace ptxloom::exec
