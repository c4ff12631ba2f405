// SPDX-License-Identifier: Apache-2.0
#include "exec/judge/wgmma_registers.hpp"

#include <fmt/format.h>

#include "exec/machine/fault.hpp"
#include "ir/naming.hpp"

namespace ptxloom::exec {
namespace {

constexpr const char* kFence =
    "use wgmma.fence before the first wgmma.mma_async, and after any other access to its D or A";

}  // namespace

void WgmmaRegisters::execute(Warp& warp, std::size_t number, const Operation& op, const DataFlow& flow,
                             Mask lanes) {
  State& state = warps_[number];
  if (flow.multiplies && state.fences == 0)
    fault(warp, op, lanes, "wgmma-fence", "there is no wgmma.fence before the warp's first wgmma.mma_async",
          kFence);
  for (const FlowPiece& piece : flow.of_wgmma)
    (flow.multiplies ? multiply : access)(warp, state, op, piece, lanes);
}

void WgmmaRegisters::multiply(Warp& warp, State& state, const Operation& op, const FlowPiece& piece,
                              Mask lanes) {
  Use& use = state.uses[piece.slot.offset];
  if (use.touched != nullptr && use.fences == state.fences) {
    fault(warp, op, lanes, "wgmma-fence",
          fmt::format("{} was accessed by {}, without a wgmma.fence between", ir::name_of(*piece.reg),
                      describe_with_line(warp, *use.touched)),
          kFence);
  }
  use.flight = &op;
  use.group = state.committed;
}

void WgmmaRegisters::access(Warp& warp, State& state, const Operation& op, const FlowPiece& piece,
                            Mask lanes) {
  Use& use = state.uses[piece.slot.offset];
  if (use.flight != nullptr) {
    fault(warp, op, lanes, "wgmma-not-awaited",
          fmt::format("it accesses {}, which {} still uses", ir::name_of(*piece.reg),
                      describe_with_line(warp, *use.flight)),
          "use wgmma.commit_group, then wgmma.wait_group for that group, before accessing its D and A");
  }
  use.touched = &op;
  use.fences = state.fences;
}

void WgmmaRegisters::wait(std::size_t warp, std::uint32_t pending) {
  State& state = warps_[warp];
  for (auto& [offset, use] : state.uses)
    if (std::uint64_t{use.group} + pending < state.committed) use.flight = nullptr;
}

}  // namespace ptxloom::exec
