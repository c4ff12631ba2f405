// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exec/control/barrier.hpp"
#include "exec/machine/block.hpp"
#include "exec/machine/call.hpp"
#include "exec/machine/decoder.hpp"
#include "exec/machine/fault.hpp"
#include "exec/machine/grid.hpp"
#include "exec/machine/members.hpp"

// Branches, exits and barriers (PTX ISA 9.7.12 and 9.7.13). Memory is coherent here, so fences need not order
// anything.
namespace ptxloom::exec {
namespace {

void decode_branch(Decoder& decoder) {
  decoder.emit([](Warp& warp, const Operation& op, Mask mask) { warp.flow().branch(mask, op.target); });
}

// Sends each lane to the label that its index selects from the list.
void run_branch_indexed(Warp& warp, const Operation& op, Mask mask) {
  const auto& targets = op.plan_as<std::vector<std::uint32_t>>();
  const Lanes<std::uint32_t> indices(warp.registers(), op.slots[0]);
  for_lanes(mask, [&](int lane) {
    if (indices[lane] < targets.size()) return;
    fault(warp, op, lane_bit(lane), "branch-index",
          "the index is " + std::to_string(indices[lane]) + ", but the list has " +
              std::to_string(targets.size()) + " labels",
          "check the index before the branch");
  });
  while (mask != 0) {
    const std::uint32_t index = indices[std::countr_zero(mask)];
    Mask lanes = 0;
    for_lanes(mask, [&](int lane) { lanes |= Mask{indices[lane] == index} << lane; });
    mask &= ~lanes;
    warp.flow().branch(lanes, targets[index]);
  }
}

void decode_branch_indexed(Decoder& decoder) {
  Operation branch = decoder.operation(&run_branch_indexed);
  branch.plan = decoder.targets_of("LIST");
  branch.by_index = true;
  decoder.emit(std::move(branch));
}

void run_exit(Warp& warp, const Operation&, Mask mask) { warp.exit(mask); }

void emit_end(Decoder& decoder, Semantic run) {
  Operation end = decoder.operation(run);
  end.ends = true;
  decoder.emit(std::move(end));
}

void decode_return(Decoder& decoder) { emit_end(decoder, decoder.in_kernel() ? &run_exit : &run_return); }

void run_trap(Warp& warp, const Operation& op, Mask mask) {
  const Grid& grid = warp.block().grid();
  // CUDA's grid.sync() stops where there is no workspace.
  const bool lacks_workspace = grid.code().uses_workspace && !grid.launch().cooperative;
  fault(warp, op, mask, "trap", "the kernel stops itself here",
        lacks_workspace ? "set Launch::cooperative: the kernel looks for the barrier of a cooperative grid"
                        : "look for the check that branches here");
}

void decode_exit(Decoder& decoder) {
  emit_end(decoder, decoder.word("op") == "exit" ? &run_exit : &run_trap);
}

// The value of an operand that must be the same in all lanes of the mask.
std::uint32_t uniform(Warp& warp, const Operation& op, Mask mask, int operand) {
  const Lanes<std::uint32_t> lanes(warp.registers(), op.slot(static_cast<std::size_t>(operand)));
  const std::uint32_t value = lanes[std::countr_zero(mask)];
  for_lanes(mask, [&](int lane) {
    if (lanes[lane] == value) return;
    fault(warp, op, lane_bit(lane), "barrier-divergence",
          "threads of a warp use different barriers or counts",
          "use the same barrier and count in all threads of a warp");
  });
  return value;
}

Arrival arrival_of(Warp& warp, const Operation& op, Mask mask, const BarrierPlan& plan) {
  return {.barrier = uniform(warp, op, mask, plan.number),
          .count = plan.count >= 0 ? uniform(warp, op, mask, plan.count) : 0,
          .aligned = plan.aligned,
          .waits = plan.waits,
          .votes = plan.vote >= 0
                       ? Lanes<bool>(warp.registers(), op.slot(static_cast<std::size_t>(plan.vote))).mask()
                       : 0};
}

// `bar` is another name for `barrier.aligned`.
BarrierPlan plan_of(const Decoder& decoder) {
  return {.number = decoder.operand("A"),
          .count = decoder.operand("B"),
          .vote = decoder.operand("C"),
          .aligned = !decoder.word("op").starts_with("barrier") || decoder.has("aligned")};
}

void run_barrier(Warp& warp, const Operation& op, Mask mask) {
  warp.block().state<Barriers>().arrive(warp, op, mask,
                                        arrival_of(warp, op, mask, op.plan_as<BarrierPlan>()));
}

void decode_sync(Decoder& decoder) {
  decoder.emit(&run_barrier, std::make_shared<BarrierPlan>(plan_of(decoder)));
}

void decode_arrive(Decoder& decoder) {
  BarrierPlan plan = plan_of(decoder);
  plan.waits = false;
  decoder.emit(&run_barrier, std::make_shared<BarrierPlan>(plan));
}

// The first operand is the destination, which the barrier writes when it opens.
void decode_reduce(Decoder& decoder) {
  BarrierPlan plan = plan_of(decoder);
  const std::string_view op = decoder.word("reduce");
  plan.reduction = op == "popc"  ? BarrierReduction::popc
                   : op == "and" ? BarrierReduction::all
                                 : BarrierReduction::any;
  decoder.emit(&run_barrier, std::make_shared<BarrierPlan>(plan));
}

void decode_warp_sync(Decoder& decoder) {
  decoder.emit([](Warp& warp, const Operation& op, Mask mask) {
    for_member_groups(warp, op, mask, op.slots[0], [&](Mask lanes, Mask named) {
      const Mask wanted = named & warp.flow().live();
      if ((wanted & ~lanes) != 0) warp.state<Detours>().look(op, lanes, wanted & ~lanes);
      warp.meet(lanes, named);
    });
  });
}

constexpr std::array kForms{
    Semantics{"bra", decode_branch, {FlowRule::none}},
    Semantics{"brx.idx", decode_branch_indexed, {FlowRule::decides}},
    Semantics{"ret", decode_return, {FlowRule::none}},
    Semantics{"exit", decode_exit, {FlowRule::none}},
    Semantics{"barrier.sync", decode_sync, {.rule = FlowRule::decides, .synchronises = true}},
    Semantics{"barrier.arrive", decode_arrive, {.rule = FlowRule::decides, .synchronises = true}},
    Semantics{"barrier.red", decode_reduce, {.rule = FlowRule::decides, .synchronises = true}},
    Semantics{"bar.warp.sync", decode_warp_sync, {.rule = FlowRule::decides, .synchronises = true}},
};

}  // namespace

std::span<const Semantics> control_semantics() { return kForms; }

}  // namespace ptxloom::exec
