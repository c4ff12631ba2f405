// SPDX-License-Identifier: Apache-2.0
#include "exec/machine/recursion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "exec/judge/judge.hpp"
#include "exec/machine/block.hpp"
#include "exec/machine/fault.hpp"
#include "exec/machine/location.hpp"
#include "exec/machine/poison.hpp"

namespace ptxloom::exec {
namespace {

void keep_registers(Warp& warp, int lane, CallStack::Frame& frame) {
  for (const Slot& slot : warp.block().grid().code().register_slots[frame.callee + 1])
    frame.registers.push_back(read(warp, slot, lane));
  if (Judge* judge = warp.judge()) judge->undefine_registers(warp, frame.callee + 1, lane);
}

void set_addresses(Warp& warp, int lane, const Callee& callee, std::uint64_t base) {
  for (const FrameAddress& address : callee.frame_addresses)
    Lanes<std::uint64_t>(warp.registers(), address.slot).set(lane, base + address.offset);
}

bool is_in(Warp& warp, int lane, std::uint32_t callee) {
  const auto& frames = warp.calls().frames(lane);
  return std::ranges::find(frames, callee, &CallStack::Frame::callee) != frames.end();
}

}  // namespace

void begin_frame(Warp& warp, const Operation& op, int lane, const Callee& callee, CallStack::Frame& frame) {
  const std::uint64_t begin = warp.block().grid().code().stack_begin;
  std::uint64_t& top = warp.calls().stack_pointer(lane);
  const std::uint64_t room = top - begin;
  const std::uint64_t base = callee.frame_bytes <= room ? (top - callee.frame_bytes) /
                                                              callee.frame_alignment * callee.frame_alignment
                                                        : 0;
  if (base < begin || callee.frame_bytes > room) {
    fault(warp, op, lane_bit(lane), "stack-overflow",
          fmt::format("{} takes {} bytes, but the stack has {} left; the thread is in {} calls",
                      callee.function.name, callee.frame_bytes, room, warp.calls().frames(lane).size()),
          "look for a recursion that never ends");
  }
  std::memset(warp.local(lane) + base, kPoison, top - base);
  if (Judge* judge = warp.judge()) judge->undefine_local(warp, lane, base, top - base);
  frame.base = top = base;
  if (is_in(warp, lane, frame.callee)) keep_registers(warp, lane, frame);
  set_addresses(warp, lane, callee, base);
}

void end_frame(Warp& warp, int lane, const Callee& callee, const CallStack::Frame& frame) {
  if (frame.registers.empty()) return;
  auto kept = frame.registers.begin();
  for (const Slot& slot : warp.block().grid().code().register_slots[frame.callee + 1])
    write(warp, slot, lane, *kept++);
  const auto& frames = warp.calls().frames(lane);
  const auto before = std::find_if(frames.rbegin(), frames.rend(),
                                   [&](const CallStack::Frame& each) { return each.callee == frame.callee; });
  set_addresses(warp, lane, callee, before->base);
}

}  // namespace ptxloom::exec
