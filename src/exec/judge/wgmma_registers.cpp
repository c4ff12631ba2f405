// SPDX-License-Identifier: Apache-2.0
#include "exec/judge/wgmma_registers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string_view>

#include "exec/machine/block.hpp"
#include "exec/machine/fault.hpp"
#include "exec/machine/grid.hpp"
#include "exec/machine/warp.hpp"
#include "ir/naming.hpp"

namespace ptxloom::exec {
namespace {

constexpr const char* kFence =
    "use wgmma.fence before the first wgmma.mma_async, and after any other access to its D or A";

// The modifier ".m64n8k16".
std::string_view shape_of(std::string_view opcode) {
  const std::size_t begin = std::min(opcode.find(".m64"), opcode.size());
  return opcode.substr(begin, opcode.find('.', begin + 1) - begin);
}

// Mostly the two have one opcode.
bool have_same_shape(const Warp& warp, const Operation& one, const Operation& other) {
  const auto opcode_of = [&](const Operation& op) {
    const ir::Function& function = warp.block().grid().code().function_of(op);
    return std::string_view(function.instructions[op.instruction].variant.opcode());
  };
  const std::string_view first = opcode_of(one), second = opcode_of(other);
  return first.data() == second.data() || shape_of(first) == shape_of(second);
}

}  // namespace

void WgmmaRegisters::execute(Warp& warp, std::size_t number, const Operation& op, const DataFlow& flow,
                             Mask lanes) {
  State& state = warps_[number];
  if (flow.multiplies && state.fences == 0)
    report({&warp, &op, std::countr_zero(lanes)}, {.code = "wgmma-fence"}, kFence,
           [] { return std::string("there is no wgmma.fence before the warp's first wgmma.mma_async"); });
  for (const FlowPiece& piece : flow.of_wgmma)
    (flow.multiplies ? multiply : access)(warp, state, op, flow, piece, lanes);
}

void WgmmaRegisters::multiply(Warp& warp, State& state, const Operation& op, const DataFlow& flow,
                              const FlowPiece& piece, Mask lanes) {
  Use& use = state.uses[piece.slot.offset];
  const auto is_it = [&](const FlowPiece& each) { return each.slot.offset == piece.slot.offset; };
  const bool is_excused = use.placed_late && std::ranges::any_of(flow.out, is_it);
  if (use.touched != nullptr && use.fences == state.fences && !is_excused) {
    const Actor actor{&warp, &op, std::countr_zero(lanes)};
    report(actor, {.code = "wgmma-fence", .other_warp = &warp, .other_op = use.touched}, kFence, [&] {
      return fmt::format("{} was accessed by {}, without a wgmma.fence between", ir::name_of(*piece.reg),
                         describe_with_line(warp, *use.touched));
    });
  }
  if (use.flight != nullptr && use.flight != &op && use.flight_fences == state.fences &&
      !have_same_shape(warp, *use.flight, op)) {
    const Actor actor{&warp, &op, std::countr_zero(lanes)};
    report(actor, {.code = "wgmma-fence", .other_warp = &warp, .other_op = use.flight}, kFence, [&] {
      return fmt::format("{} is accessed by {}, which has another shape, without a wgmma.fence between",
                         ir::name_of(*piece.reg), describe_with_line(warp, *use.flight));
    });
  }
  use.flight = &op;
  use.group = state.committed;
  use.flight_fences = state.fences;
}

void WgmmaRegisters::access(Warp& warp, State& state, const Operation& op, const DataFlow& flow,
                            const FlowPiece& piece, Mask lanes) {
  Use& use = state.uses[piece.slot.offset];
  if (use.flight != nullptr) {
    const Actor actor{&warp, &op, std::countr_zero(lanes)};
    report(actor, {.code = "wgmma-not-awaited", .other_warp = &warp, .other_op = use.flight},
           "use wgmma.commit_group, then wgmma.wait_group for that group, before accessing its D and A", [&] {
             return fmt::format("it accesses {}, which {} still uses", ir::name_of(*piece.reg),
                                describe_with_line(warp, *use.flight));
           });
  }
  use.placed_late = is_placed_late(state, use, flow) && (use.placed_late || use.fences != state.fences);
  use.touched = &op;
  use.fences = state.fences;
}

void WgmmaRegisters::wait(std::size_t warp, std::uint32_t pending) {
  State& state = warps_[warp];
  for (auto& [offset, use] : state.uses)
    if (std::uint64_t{use.group} + pending < state.committed) use.flight = nullptr;
}

}  // namespace ptxloom::exec
