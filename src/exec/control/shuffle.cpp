// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>

#include "exec/judge/judge.hpp"
#include "exec/machine/decoder.hpp"
#include "exec/machine/lanewise.hpp"
#include "exec/machine/members.hpp"
#include "exec/machine/poison.hpp"

// Exchange within a warp: shfl.sync (PTX ISA 9.7.9.6), and shfl, whose members are the active threads.
namespace ptxloom::exec {
namespace {

constexpr std::uint32_t kUnknown = 0x0101'0101u * kPoison;  // read from a lane that does not take part

/// The lane to read from, and whether it is in range (PTX ISA 9.7.9.6, pseudocode).
struct Source {
  int lane;
  bool in_range;
};
using ShuffleMode = Source (*)(int lane, std::uint32_t b, std::uint32_t c);

template <class F>
Source source_of(int lane, std::uint32_t b, std::uint32_t c, F choose) {
  const int segment = static_cast<int>(c >> 8 & 31), clamp = static_cast<int>(c & 31);
  const int lowest = lane & segment, highest = lowest | (clamp & ~segment & 31);
  const Source source = choose(static_cast<int>(b & 31), segment, lowest, highest);
  return source.in_range ? source : Source{lane, false};
}

Source up(int lane, std::uint32_t b, std::uint32_t c) {
  return source_of(lane, b, c,
                   [&](int by, int, int, int bound) { return Source{lane - by, lane - by >= bound}; });
}
Source down(int lane, std::uint32_t b, std::uint32_t c) {
  return source_of(lane, b, c,
                   [&](int by, int, int, int bound) { return Source{lane + by, lane + by <= bound}; });
}
Source butterfly(int lane, std::uint32_t b, std::uint32_t c) {
  return source_of(lane, b, c,
                   [&](int by, int, int, int bound) { return Source{lane ^ by, (lane ^ by) <= bound}; });
}
Source indexed(int lane, std::uint32_t b, std::uint32_t c) {
  return source_of(lane, b, c, [](int by, int segment, int lowest, int bound) {
    const int from = lowest | (by & ~segment);
    return Source{from, from <= bound};
  });
}

struct ShufflePlan {
  ShuffleMode mode = nullptr;
  bool predicate = false;  // the second operand reports whether the source was in range
  bool members = true;     // the last operand is a member mask
};

// Values of lanes that do not come are undefined, which is found where they are used.
void run_shuffle(Warp& warp, const Operation& op, Mask mask) {
  const auto& plan = op.plan_as<ShufflePlan>();
  const std::size_t a = plan.predicate ? 2 : 1;
  if (plan.members) mask = for_whole_groups(warp, op, mask, op.slots[a + 3], [](Mask) {});
  const auto in = [&](std::size_t slot) { return Lanes<std::uint32_t>(warp.registers(), op.slots[slot]); };
  std::array<std::uint32_t, kLanes> result;
  std::array<int, kLanes> sources{};
  Mask in_range = 0;
  for_lanes(mask, [&](int lane) {
    const Source source = plan.mode(lane, in(a + 1)[lane], in(a + 2)[lane]);
    result[static_cast<std::size_t>(lane)] = (mask >> source.lane & 1) != 0 ? in(a)[source.lane] : kUnknown;
    in_range |= Mask{source.in_range} << lane;
    sources[static_cast<std::size_t>(lane)] = source.lane;
  });
  if (Judge* judge = warp.judge()) judge->shuffle(warp, op, mask, op.slots[0], op.slots[a], sources);
  for_lanes(mask, [&](int lane) { in(0).set(lane, result[static_cast<std::size_t>(lane)]); });
  if (plan.predicate) Lanes<bool>(warp.registers(), op.slots[1]).set(mask, in_range);
}

void decode_shuffle(Decoder& decoder) {
  const std::string_view m = decoder.word("mode");
  decoder.emit_collective(
      &run_shuffle, std::make_shared<ShufflePlan>(ShufflePlan{.mode = m == "up"     ? &up
                                                                      : m == "down" ? &down
                                                                      : m == "bfly" ? &butterfly
                                                                                    : &indexed,
                                                              .predicate = decoder.operand("P") >= 0,
                                                              .members = decoder.operand("MASK") >= 0}));
}

constexpr std::array kForms{
    Semantics{"shfl.sync", decode_shuffle, {FlowRule::elsewhere}},
    Semantics{"shfl", decode_shuffle, {FlowRule::elsewhere}},
};

}  // namespace

std::span<const Semantics> shuffle_semantics() { return kForms; }

}  // namespace ptxloom::exec
