// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "exec/judge/undefined.hpp"
#include "exec/machine/cluster.hpp"

// What reports say about where undefined bits come from.
namespace ptxloom::exec {

std::uint32_t Undefined::number_of(const Operation& op) const {
  return cluster_->grid().code().number_of(op);
}

Undefined::Origin Undefined::unwritten_shared(const Operation& op) {
  return origins_.find(number_of(op), 0,
                       [] { return std::string("loads them from shared memory that nobody has written"); });
}

Undefined::Origin Undefined::updates_unwritten(const Operation& op) {
  return origins_.find(number_of(op), 0,
                       [] { return std::string("updates shared memory that nobody has written"); });
}

Undefined::Origin Undefined::unwritten_local(const Actor& actor, std::uint64_t offset) {
  return origins_.find(number_of(*actor.op), 1, [&] {
    return fmt::format("loads them from {}, which nobody has written",
                       local_name(*actor.warp, actor.lane, offset));
  });
}

Undefined::Origin Undefined::unwritten_global(const Operation& op, const std::byte* memory) {
  return origins_.find(number_of(op), 2, [&] {
    return fmt::format("loads them from {}, which nobody has written{}", global_name(memory),
                       cluster_->grid().code().discards ? " since the start or since discard.L2" : "");
  });
}

std::string Undefined::global_name(const std::byte* memory) const {
  const Grid& grid = cluster_->grid();
  return describe_allocated(grid.code(), grid.launch(), grid.allocations(), memory);
}

Undefined::Origin Undefined::lane_apart(const Warp& warp, const Operation& op, int lane) {
  const bool alive = (warp.flow().live() >> lane & 1) != 0;
  return origins_.find(number_of(op), 3 + static_cast<std::uint64_t>(lane), [&] {
    return fmt::format("takes them from lane {}, which {}", lane,
                       alive ? "does not take part" : "has exited or never was");
  });
}

// "`mine` + 0x8 of function f"
std::string Undefined::local_name(Warp& warp, int lane, std::uint64_t offset) const {
  const Code& code = cluster_->grid().code();
  const auto& frames = warp.calls().frames(lane);
  const auto frame = std::ranges::find_if(frames, [&](const CallStack::Frame& each) {
    return offset - each.base < code.callees[each.callee].frame_bytes;
  });
  const bool in_frame = frame != frames.end();
  const std::uint64_t within = in_frame ? offset - frame->base : offset;
  for (const LocalVariable& variable : code.locals) {
    if (variable.in_frame != in_frame || within - variable.offset >= variable.bytes) continue;
    if (in_frame && variable.function != frame->callee + 1) continue;
    const std::string owner = variable.function == 0
                                  ? "kernel " + code.kernel.name
                                  : "function " + code.callees[variable.function - 1].function.name;
    return fmt::format("local memory `{}` + {:#x} of {}", variable.name, within - variable.offset, owner);
  }
  return "local memory of alloca";
}

void Undefined::shuffle(const Warp& warp, const Operation& op, Mask lanes, const Slot& to, const Slot& from,
                        const std::array<int, kLanes>& sources) {
  RegisterShadow& shadow = registers_of(warp);
  Mask apart = 0;  // lanes whose source does not take part
  for_lanes(lanes, [&](int lane) {
    const bool takes_part = (lanes >> sources[static_cast<std::size_t>(lane)] & 1) != 0;
    apart |= Mask{!takes_part} << lane;
  });
  if (apart == 0 && shadow.is_defined(from)) return shadow.define(to, lanes, warp.flow().live());
  set_origin(warp, to,
             apart == 0 ? origin_of(warp, from)
                        : lane_apart(warp, op, sources[static_cast<std::size_t>(std::countr_zero(apart))]));
  std::array<std::uint64_t, kLanes> bits{};
  for_lanes(lanes, [&](int lane) {
    bits[static_cast<std::size_t>(lane)] =
        (apart >> lane & 1) != 0 ? ~std::uint64_t{0}
                                 : shadow.undefined(from, sources[static_cast<std::size_t>(lane)]);
  });
  for_lanes(lanes, [&](int lane) { shadow.set(to, lane, bits[static_cast<std::size_t>(lane)]); });
}

}  // namespace ptxloom::exec
