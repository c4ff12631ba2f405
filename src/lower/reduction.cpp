// SPDX-License-Identifier: Apache-2.0
// redux.sync of integers by shuffles, and of f32 by that of integers.
#include <array>
#include <string>

#include "lower/fallback.hpp"

namespace ptxloom::lower {
namespace {

constexpr int kLanes = 32, kSteps = 5;
constexpr std::uint32_t kMagnitude = 0x7fff'ffff;

/// The lowest lane of a mask; kLanes if it is empty.
Reg lowest(Emitter& emit, Reg mask) { return emit.into(u32, "clz.b32", emit("brev.b32", mask)); }

Reg shuffled(Emitter& emit, Reg value, Reg from, Reg mask) {
  return emit.into(value.type, "shfl.sync.idx.b32", value, from, kLanes - 1, mask);
}

/// Each lane of the mask combines the values from its own up to, not including, that of the lane `next`. Each
/// step doubles their number, so the lowest lane has all in the end. Lanes outside of the mask are not read.
Reg by_shuffles(Emitter& emit, const Variant& variant, std::span<const Reg> operands) {
  const std::string op(*variant.slot("op")), opcode = op + "." + std::string(*variant.slot("type"));
  const bool counts_twice = op == "add" || op == "xor";  // a value that is combined twice
  const Reg mask = operands[1], lane = emit.special("laneid");
  Reg value = operands[0];
  Reg next = lowest(emit, emit("and.b32", mask, emit.special("lanemask_gt")));
  for (int step = 0; step < kSteps; ++step) {
    const Reg exists = emit("setp.lt.u32", next, kLanes);
    const Reg from = emit("selp.b32", next, lane, exists);
    Reg other = shuffled(emit, value, from, mask);
    if (counts_twice) other = emit.into(value.type, "selp.b32", other, 0, exists);
    value = emit.into(value.type, opcode, value, other);
    if (step + 1 < kSteps) next = shuffled(emit, next, from, mask);
  }
  return shuffled(emit, value, lowest(emit, mask), mask);
}

/// Its own inverse: orders the patterns of f32, as s32, like the numbers, with -0 below 0.
Reg ordered(Emitter& emit, Reg bits) {
  const Reg signs = emit.into(s32, "shr.s32", emit.into(s32, "mov.b32", bits), 31);
  const std::uint32_t first_xor_both = 0x78;  // bits ^ (signs & magnitude)
  return emit("lop3.b32", bits, signs, kMagnitude, first_xor_both);
}

// A NaN becomes the least or the greatest s32, whichever makes it lose or, with .NaN, win. The greatest is
// also the pattern of the resulting NaN.
Reg of_floats(Emitter& emit, const Variant& variant, std::span<const Reg> operands) {
  const std::string op(*variant.slot("op"));
  const bool has_abs = variant.slot("abs").has_value();
  const std::uint32_t infinity = 0x7f80'0000;
  const bool greatest = (op == "min") != variant.slot("nan").has_value();
  const std::uint32_t nan = greatest ? kMagnitude : ~kMagnitude;
  const Reg bits = emit.bits_of(operands[0]), magnitude = emit("and.b32", bits, kMagnitude);
  const Reg number = has_abs ? magnitude : ordered(emit, bits);
  const Reg key = emit("selp.b32", nan, number, emit("setp.gt.u32", magnitude, infinity));
  const Reg result = emit.lowered("redux.sync." + op + ".s32", emit.into(s32, "mov.b32", key), operands[1]);
  const Reg pattern = emit.into(u32, "mov.b32", result);
  const Reg value = has_abs ? pattern : ordered(emit, pattern);
  if (greatest) return emit.single_of(value);
  return emit.single_of(emit("selp.b32", kMagnitude, value, emit("setp.eq.u32", pattern, nan)));
}

constexpr std::array kReductions{
    Fallback{"redux.sync", {{{"op", "add min max"}, {"type", "u32 s32"}}}, by_shuffles},
    Fallback{"redux.sync", {{{"op", "and or xor"}, {"type", "b32"}}}, by_shuffles},
    Fallback{
        "redux.sync", {{{"op", "min max"}, {"type", "f32"}, {"abs", "- abs"}, {"nan", "- NaN"}}}, of_floats},
};

}  // namespace

std::span<const Fallback> fallbacks_of_reductions() { return kReductions; }

}  // namespace ptxloom::lower
