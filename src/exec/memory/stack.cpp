// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "exec/judge/judge.hpp"
#include "exec/machine/block.hpp"
#include "exec/machine/decoder.hpp"
#include "exec/machine/fault.hpp"
#include "exec/machine/lanewise.hpp"
#include "exec/machine/poison.hpp"
#include "exec/memory/address.hpp"

// The stack of a thread (PTX ISA 9.7.17): local memory after its variables, growing downwards. It is released
// by stackrestore, and at the end of the function.
namespace ptxloom::exec {
namespace {

constexpr std::uint64_t kMinimumAlignment = 8;

// For 32-bit and 64-bit operands alike.
template <class T>
void run_alloca(Warp& warp, const Operation& op, Mask mask) {
  const Code& code = warp.block().grid().code();
  const bool aligned = op.slots.size() > 2;
  const Lanes<T> out(warp.registers(), op.slots[0]), size(warp.registers(), op.slots[1]);
  for_lanes(mask, [&](int lane) {
    const std::uint64_t alignment =
        std::max(kMinimumAlignment, aligned ? address_of(warp, op.slots[2], lane) : 0);
    std::uint64_t& top = warp.calls().stack_pointer(lane);
    const std::uint64_t bytes = size[lane], room = top - code.stack_begin;
    const std::uint64_t bottom = bytes <= room ? (top - bytes) & ~(alignment - 1) : 0;
    if (bytes > room || bottom < code.stack_begin) {
      fault(
          warp, op, lane_bit(lane), "stack-overflow",
          fmt::format("it takes {} bytes, aligned to {}, but the stack has {} left", bytes, alignment, room),
          "use less, or release it with stackrestore");
    }
    std::memset(warp.local(lane) + bottom, kPoison, top - bottom);
    if (Judge* judge = warp.judge()) judge->undefine_local(warp, lane, bottom, top - bottom);
    top = bottom;
    out.set(lane, static_cast<T>(bottom));
  });
}

template <class T>
void run_save(Warp& warp, const Operation& op, Mask mask) {
  const Lanes<T> out(warp.registers(), op.slots[0]);
  for_lanes(mask, [&](int lane) { out.set(lane, static_cast<T>(warp.calls().stack_pointer(lane))); });
}

template <class T>
void run_restore(Warp& warp, const Operation& op, Mask mask) {
  const Code& code = warp.block().grid().code();
  const Lanes<T> saved(warp.registers(), op.slots[0]);
  for_lanes(mask, [&](int lane) {
    std::uint64_t& top = warp.calls().stack_pointer(lane);
    if (saved[lane] < top || saved[lane] > code.local_bytes) {
      fault(warp, op, lane_bit(lane), "stack-pointer",
            fmt::format("{:#x} is not a position of this stack", std::uint64_t{saved[lane]}),
            "restore only a value that stacksave returned in the same function");
    }
    top = saved[lane];
  });
}

bool is_wide(const Decoder& decoder) { return decoder.word("type") == "u64"; }

void decode_alloca(Decoder& decoder) {
  decoder.use_stack();
  decoder.emit(is_wide(decoder) ? &run_alloca<std::uint64_t> : &run_alloca<std::uint32_t>);
}

void decode_save(Decoder& decoder) {
  decoder.use_stack();
  decoder.emit(is_wide(decoder) ? &run_save<std::uint64_t> : &run_save<std::uint32_t>);
}

void decode_restore(Decoder& decoder) {
  decoder.use_stack();
  decoder.emit(is_wide(decoder) ? &run_restore<std::uint64_t> : &run_restore<std::uint32_t>);
}

constexpr std::array kForms{
    Semantics{"alloca", decode_alloca, {FlowRule::decides}},
    Semantics{"stacksave", decode_save, {FlowRule::none}},
    Semantics{"stackrestore", decode_restore, {FlowRule::decides}},
};

}  // namespace

std::span<const Semantics> stack_semantics() { return kForms; }

}  // namespace ptxloom::exec
