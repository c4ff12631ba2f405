// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <string>

#include "exec/control/register_limits.hpp"
#include "exec/judge/judge.hpp"
#include "exec/machine/block.hpp"
#include "exec/machine/decoder.hpp"
#include "exec/machine/fault.hpp"
#include "exec/machine/lanewise.hpp"
#include "exec/machine/members.hpp"
#include "exec/machine/poison.hpp"
#include "exec/memory/address.hpp"

// Hints to caches, schedulers and the memory system, which do not change results here: memory is coherent,
// grids run one after another, and registers are unlimited. Requirements of the manual on operands are
// checked.
namespace ptxloom::exec {
namespace {

// prefetch (whose address may be invalid), pmevent.
void decode_nothing(Decoder& decoder) {
  decoder.emit([](Warp&, const Operation&, Mask) {});
}

// Grids run one after the other.
void decode_grid_dependency(Decoder& decoder) {
  if (decoder.word("action") != "wait") return decode_nothing(decoder);
  decoder.emit([](Warp& warp, const Operation&, Mask mask) {
    if (Judge* judge = warp.judge()) judge->waits_for_grids(warp, mask);
  });
  decoder.mark_grid_wait();
}

struct FencePlan {
  Scope scope = Scope::gpu;
  FenceSides sides;
};

// fence, membar: strong accesses around them are ordered.
void run_fence(Warp& warp, const Operation& op, Mask mask) {
  const auto& plan = op.plan_as<FencePlan>();
  if (Judge* judge = warp.judge()) judge->fence(warp, mask, plan.scope, plan.sides);
}

// It makes mbarriers visible to those who pass a relaxed barrier of the cluster, and nothing else.
void decode_init_fence(Decoder& decoder) {
  decoder.emit([](Warp& warp, const Operation&, Mask mask) {
    if (Judge* judge = warp.judge()) judge->show_barriers(warp, mask);
  });
}

void decode_fence(Decoder& decoder) {
  const std::string_view sem = decoder.word("sem");
  // membar is fence.sc (PTX ISA 9.7.13.4).
  const FenceSides sides{
      .acquires = sem != "release", .releases = sem != "acquire", .sc = sem == "sc" || decoder.has("level")};
  const Scope scope = decoder.has("space") ? Scope::cluster
                                           : scope_of(decoder.word(decoder.has("scope") ? "scope" : "level"));
  if (!sides.sc || scope < Scope::gpu) decoder.mark_weak_fence();
  decoder.emit(&run_fence, std::make_shared<FencePlan>(FencePlan{.scope = scope, .sides = sides}));
}

template <bool own_shared, bool shared, bool global>
void run_proxy_fence(Warp& warp, const Operation&, Mask mask) {
  if (Judge* judge = warp.judge())
    judge->fence_proxy(warp, mask, {.own_shared = own_shared, .shared = shared, .global = global});
}

// fence.proxy.async::generic.acquire and .release are fences of that kind, too.
void run_acquiring_proxy_fence(Warp& warp, const Operation&, Mask mask) {
  Judge* const judge = warp.judge();
  if (judge == nullptr) return;
  judge->fence(warp, mask, Scope::cluster, {.acquires = true, .releases = false});
  judge->fence_proxy(warp, mask, {.own_shared = true, .shared = true, .global = false});
}

void run_releasing_proxy_fence(Warp& warp, const Operation&, Mask mask) {
  Judge* const judge = warp.judge();
  if (judge == nullptr) return;
  judge->fence_proxy(warp, mask, {.own_shared = true, .shared = false, .global = false});
  judge->fence(warp, mask, Scope::cluster, {.acquires = false, .releases = true});
}

void decode_proxy_fence(Decoder& decoder) {
  if (decoder.word("proxy") == "alias") return decode_nothing(decoder);  // a location has one address here
  const std::string_view space = decoder.word("space");
  if (space == "global") return decoder.emit(&run_proxy_fence<false, false, true>);
  if (space == "shared::cta") return decoder.emit(&run_proxy_fence<true, false, false>);
  decoder.emit(space == "shared::cluster" ? &run_proxy_fence<true, true, false>
                                          : &run_proxy_fence<true, true, true>);
}

void decode_restricted_proxy_fence(Decoder& decoder) {
  const std::string_view sem = decoder.word("sem");
  if (sem == "acquire") return decoder.emit(&run_acquiring_proxy_fence);
  if (sem == "release") return decoder.emit(&run_releasing_proxy_fence);
  decode_proxy_fence(decoder);
}

void run_tensor_map_release(Warp& warp, const Operation& op, Mask mask) {
  if (Judge* judge = warp.judge()) judge->tensor_maps().release(warp, op, mask);
}

void run_tensor_map_acquire(Warp& warp, const Operation& op, Mask mask) {
  Judge* const judge = warp.judge();
  if (judge == nullptr) return;
  const Reach reach{.bytes = TensorMaps::kBytes, .alignment = 1, .manner = Manner::apart};
  for_lanes(mask, [&](int lane) {
    const std::uint64_t address = address_of(warp, op.slots[0], lane);
    if (address == 0) return;  // a fence reads nothing; CUTLASS has warps without a map execute it, too
    judge->tensor_maps().acquire({&warp, &op, lane}, resolve(warp, op, lane, address, reach));
  });
}

void decode_tensor_map_release(Decoder& decoder) { decoder.emit(&run_tensor_map_release); }
void decode_tensor_map_acquire(Decoder& decoder) { decoder.emit(&run_tensor_map_acquire); }

// Others run meanwhile: they may produce what this thread waits for.
void decode_nanosleep(Decoder& decoder) {
  decoder.emit([](Warp& warp, const Operation&, Mask) { warp.yield(); });
}

void decode_setmaxnreg(Decoder& decoder) {
  decoder.emit([](Warp& warp, const Operation& op, Mask mask) {
    require_full_warp(warp, op, mask);
    if (warp.judge() == nullptr) return;
    warp.block().state<RegisterLimits>().note(warp, op,
                                              Lanes<std::uint32_t>(warp.registers(), op.slots[0])[0]);
  });
}

constexpr std::uint32_t kLine = 128;  // bytes; the only size that applypriority and discard take

Reach line(const Decoder& decoder, Access access) {
  return {.space = decoder.has("space") ? StateSpace::global : StateSpace::generic,
          .access = access,
          .bytes = kLine,
          .alignment = kLine};
}

void run_apply_priority(Warp& warp, const Operation& op, Mask mask) {
  Pointers lines;
  resolve(warp, op, mask, op.slots[0], op.plan_as<Reach>(), lines);
}

void decode_apply_priority(Decoder& decoder) {
  decoder.emit(&run_apply_priority, std::make_shared<Reach>(line(decoder, Access::read)));
}

// "A weak write of an indeterminate value": poison.
void run_discard(Warp& warp, const Operation& op, Mask mask) {
  Pointers lines;
  resolve(warp, op, mask, op.slots[0], op.plan_as<Reach>(), lines);
  for_lanes(mask, [&](int lane) {
    std::byte* const line = lines[static_cast<std::size_t>(lane)];
    std::memset(line, kPoison, kLine);
    if (Judge* judge = warp.judge()) std::ranges::fill(judge->undefined_bits(line, kLine), std::byte{0xff});
  });
}

void decode_discard(Decoder& decoder) {
  decoder.mark_discarding();
  decoder.emit(&run_discard, std::make_shared<Reach>(line(decoder, Access::write)));
}

// A policy is opaque and nothing here interprets it: its priorities, encoded in our own bits.
struct Policy {
  std::uint64_t value = 0;
  int fraction = -1, primary_bytes = -1, total_bytes = -1;  // operand indices
};

std::uint64_t priority(std::string_view word) {
  if (word == "L2::evict_first") return 1;
  if (word == "L2::evict_last") return 2;
  return word == "L2::evict_normal" ? 3 : 4;  // evict_unchanged
}

void check_policy(Warp& warp, const Operation& op, Mask mask, const Policy& policy) {
  const auto operand = [&](int index) -> const Slot& { return op.slot(static_cast<std::size_t>(index)); };
  for_lanes(mask, [&](int lane) {
    if (policy.fraction >= 0) {
      const float fraction = Lanes<float>(warp.registers(), operand(policy.fraction))[lane];
      if (fraction > 0 && fraction <= 1) return;
      fault(warp, op, lane_bit(lane), "cache-policy", "the fraction is " + std::to_string(fraction),
            "use a fraction above 0 and at most 1");
    }
    if (policy.primary_bytes < 0) return;
    const Lanes<std::uint32_t> primary(warp.registers(), operand(policy.primary_bytes)),
        total(warp.registers(), operand(policy.total_bytes));
    if (primary[lane] <= total[lane]) return;
    fault(warp, op, lane_bit(lane), "cache-policy",
          "the primary range has " + std::to_string(primary[lane]) + " bytes, all of it " +
              std::to_string(total[lane]),
          "use a total size that includes the primary range");
  });
}

void run_policy(Warp& warp, const Operation& op, Mask mask) {
  const auto& policy = op.plan_as<Policy>();
  check_policy(warp, op, mask, policy);
  const Lanes<std::uint64_t> out(warp.registers(), op.slots[0]);
  for_lanes(mask, [&](int lane) { out.set(lane, policy.value); });
}

void decode_policy(Decoder& decoder) {
  const std::string_view second = decoder.has("second") ? decoder.word("second") : "L2::evict_unchanged";
  decoder.emit(&run_policy, std::make_shared<Policy>(
                                Policy{.value = priority(decoder.word("first")) << 8 | priority(second),
                                       .fraction = decoder.operand("F"),
                                       .primary_bytes = decoder.operand("N"),
                                       .total_bytes = decoder.operand("M")}));
}

void decode_policy_of_property(Decoder& decoder) {
  decoder.emit(lanewise<std::uint64_t>([](std::uint64_t property) { return property; }));
}

constexpr std::array kForms{
    Semantics{"fence", decode_fence, {.rule = FlowRule::none, .synchronises = true}},
    Semantics{"fence.restrict", decode_fence, {.rule = FlowRule::none, .synchronises = true}},
    Semantics{"fence.mbarrier_init", decode_init_fence, {.rule = FlowRule::none, .synchronises = true}},
    Semantics{"fence.proxy", decode_proxy_fence, {.rule = FlowRule::none, .synchronises = true}},
    Semantics{"fence.proxy.restrict",
              decode_restricted_proxy_fence,
              {.rule = FlowRule::none, .synchronises = true}},
    Semantics{"fence.proxy.tensormap.release",
              decode_tensor_map_release,
              {.rule = FlowRule::none, .synchronises = true}},
    Semantics{"fence.proxy.tensormap.acquire",
              decode_tensor_map_acquire,
              {.rule = FlowRule::none, .synchronises = true}},
    Semantics{"fence.proxy.alias", decode_nothing, {FlowRule::none}},  // a location has one address here
    Semantics{"membar", decode_fence, {.rule = FlowRule::none, .synchronises = true}},
    Semantics{"griddepcontrol", decode_grid_dependency, {FlowRule::none}},
    Semantics{"pmevent", decode_nothing, {FlowRule::none}},
    Semantics{"nanosleep", decode_nanosleep, {FlowRule::decides}},
    Semantics{"setmaxnreg", decode_setmaxnreg, {FlowRule::none}},
    Semantics{"prefetch", decode_nothing, {FlowRule::none}},
    Semantics{"prefetch.valid", decode_nothing, {FlowRule::none}},
    Semantics{"prefetchu", decode_nothing, {FlowRule::none}},
    Semantics{"applypriority", decode_apply_priority, {FlowRule::none}},
    Semantics{"discard", decode_discard, {FlowRule::none}},
    Semantics{"createpolicy.fractional", decode_policy, {FlowRule::smear}},
    Semantics{"createpolicy.range", decode_policy, {FlowRule::smear}},
    Semantics{"createpolicy.cvt", decode_policy_of_property, {FlowRule::none}},
};

}  // namespace

std::span<const Semantics> hint_semantics() { return kForms; }

}  // namespace ptxloom::exec
