// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <memory>

#include "exec/arithmetic/minmax.hpp"
#include "exec/machine/decoder.hpp"
#include "exec/machine/lanewise.hpp"
#include "exec/machine/members.hpp"

// Collective operations of a warp: votes, matches, reductions, elect (PTX ISA 9.7.13.8 to 9.7.13.14). The
// threads of a member mask execute together; each such set gets its own result.
namespace ptxloom::exec {
namespace {

template <class T>
void set_all(Warp& warp, const Slot& slot, Mask lanes, T value) {
  const Lanes<T> out(warp.registers(), slot);
  for_lanes(lanes, [&](int lane) { out.set(lane, value); });
}

struct VotePlan {
  Mask (*vote)(Mask votes, Mask voters) = nullptr;
  bool ballot = false;  // the destination is a register with the votes, not a predicate
  int members = -1;     // operand index of the member mask; -1: the active threads vote
};

void run_vote(Warp& warp, const Operation& op, Mask mask) {
  const auto& plan = op.plan_as<VotePlan>();
  const Mask votes = Lanes<bool>(warp.registers(), op.slots[1]).mask();
  const auto vote = [&](Mask lanes) {
    const Mask result = plan.vote(votes & lanes, lanes);
    if (plan.ballot) return set_all<Mask>(warp, op.slots[0], lanes, result);
    Lanes<bool>(warp.registers(), op.slots[0]).set(lanes, result);
  };
  if (plan.members < 0) return vote(mask);
  for_whole_groups(warp, op, mask, op.slot(static_cast<std::size_t>(plan.members)), vote);
}

void decode_vote(Decoder& decoder) {
  const std::string_view mode = decoder.word("mode");
  VotePlan plan{.ballot = mode == "ballot", .members = decoder.operand("MASK")};
  const auto yes = [](bool result) { return result ? kAllLanes : Mask{0}; };
  using Yes = decltype(yes);
  if (mode == "ballot") plan.vote = [](Mask votes, Mask) { return votes; };
  if (mode == "all") plan.vote = [](Mask votes, Mask voters) { return Yes{}(votes == voters); };
  if (mode == "any") plan.vote = [](Mask votes, Mask) { return Yes{}(votes != 0); };
  if (mode == "uni") plan.vote = [](Mask votes, Mask voters) { return Yes{}(votes == 0 || votes == voters); };
  decoder.emit_collective(&run_vote, std::make_shared<VotePlan>(plan));
}

/// The lanes of `among` that have the same value as `lane`.
template <class T>
Mask equals(const Lanes<T>& values, Mask among, int lane) {
  Mask equal = 0;
  for_lanes(among, [&](int other) { equal |= Mask{values[other] == values[lane]} << other; });
  return equal;
}

template <class T>
void run_match_any(Warp& warp, const Operation& op, Mask mask) {
  const Lanes<T> values(warp.registers(), op.slots[1]);
  std::array<Mask, kLanes> equal{};
  const Mask whole = for_whole_groups(warp, op, mask, op.slots[2], [&](Mask lanes) {
    for_lanes(lanes, [&](int lane) { equal[static_cast<std::size_t>(lane)] = equals(values, lanes, lane); });
  });
  const Lanes<Mask> out(warp.registers(), op.slots[0]);
  for_lanes(whole, [&](int lane) { out.set(lane, equal[static_cast<std::size_t>(lane)]); });
}

struct MatchPlan {
  int predicate = -1, value = 1, members = 2;  // operand indices
};

template <class T>
void run_match_all(Warp& warp, const Operation& op, Mask mask) {
  const auto& plan = op.plan_as<MatchPlan>();
  const Lanes<T> values(warp.registers(), op.slot(static_cast<std::size_t>(plan.value)));
  for_whole_groups(warp, op, mask, op.slot(static_cast<std::size_t>(plan.members)), [&](Mask lanes) {
    const bool all = equals(values, lanes, std::countr_zero(lanes)) == lanes;
    set_all<Mask>(warp, op.slots[0], lanes, all ? lanes : 0);
    if (plan.predicate < 0) return;
    Lanes<bool>(warp.registers(), op.slot(static_cast<std::size_t>(plan.predicate)))
        .set(lanes, all ? kAllLanes : 0);
  });
}

void decode_match_any(Decoder& decoder) {
  decoder.emit_collective(decoder.word("type") == "b64" ? &run_match_any<std::uint64_t>
                                                        : &run_match_any<std::uint32_t>);
}

void decode_match_all(Decoder& decoder) {
  const MatchPlan plan{
      .predicate = decoder.operand("P"), .value = decoder.operand("A"), .members = decoder.operand("MASK")};
  decoder.emit_collective(
      decoder.word("type") == "b64" ? &run_match_all<std::uint64_t> : &run_match_all<std::uint32_t>,
      std::make_shared<MatchPlan>(plan));
}

/// Combines two values of a reduction.
template <class T, class F>
Semantic reduction(F) {
  return [](Warp& warp, const Operation& op, Mask mask) {
    const Lanes<T> values(warp.registers(), op.slots[1]);
    for_whole_groups(warp, op, mask, op.slots[2], [&](Mask lanes) {
      T result = values[std::countr_zero(lanes)];
      for_lanes(lanes & (lanes - 1), [&](int lane) { result = F{}(result, values[lane]); });
      set_all<T>(warp, op.slots[0], lanes, result);
    });
  };
}

template <class T>
Semantic integer_reduction(std::string_view op) {
  if (op == "add")
    return reduction<T>([](T a, T b) { return static_cast<T>(Storage<T>(a) + Storage<T>(b)); });
  if (op == "min") return reduction<T>([](T a, T b) { return std::min(a, b); });
  if (op == "max") return reduction<T>([](T a, T b) { return std::max(a, b); });
  if (op == "and") return reduction<T>([](T a, T b) { return a & b; });
  if (op == "or") return reduction<T>([](T a, T b) { return a | b; });
  return reduction<T>([](T a, T b) { return a ^ b; });
}

// Each value is first combined with itself, so that .abs and NaN handling apply to a single value too.
void run_float_reduction(Warp& warp, const Operation& op, Mask mask) {
  const auto& choose = op.plan_as<MinMax>();
  const Lanes<std::uint32_t> values(warp.registers(), op.slots[1]);
  for_whole_groups(warp, op, mask, op.slots[2], [&](Mask lanes) {
    std::uint64_t result = values[std::countr_zero(lanes)];
    for_lanes(lanes, [&](int lane) { result = choose(result, values[lane]); });
    set_all(warp, op.slots[0], lanes, static_cast<std::uint32_t>(result));
  });
}

void decode_reduction(Decoder& decoder) {
  const std::string_view op = decoder.word("op"), type = decoder.word("type");
  if (type == "s32") return decoder.emit_collective(integer_reduction<std::int32_t>(op));
  if (type != "f32") return decoder.emit_collective(integer_reduction<std::uint32_t>(op));
  decoder.emit_collective(&run_float_reduction,
                          std::make_shared<MinMax>(MinMax{.format = &base::kF32,
                                                          .is_min = op == "min",
                                                          .propagate_nan = decoder.has("nan"),
                                                          .abs = decoder.has("abs")}));
}

// The manual does not say which thread is elected, only that it is always the same: here the lowest.
void run_elect(Warp& warp, const Operation& op, Mask mask) {
  for_whole_groups(warp, op, mask, op.slots[2], [&](Mask lanes) {
    const int leader = std::countr_zero(lanes);
    set_all(warp, op.slots[0], lanes, static_cast<std::uint32_t>(leader));
    Lanes<bool>(warp.registers(), op.slots[1]).set(lanes, lane_bit(leader));
  });
}

void decode_elect(Decoder& decoder) { decoder.emit_collective(&run_elect); }

void decode_active_mask(Decoder& decoder) {
  decoder.emit([](Warp& warp, const Operation& op, Mask mask) { set_all(warp, op.slots[0], mask, mask); });
}

constexpr std::array kForms{
    Semantics{"vote", decode_vote, {FlowRule::collective}},
    Semantics{"vote.sync", decode_vote, {FlowRule::collective}},
    Semantics{"match.any", decode_match_any, {FlowRule::collective}},
    Semantics{"match.all", decode_match_all, {FlowRule::collective}},
    Semantics{"redux.sync", decode_reduction, {FlowRule::collective}},
    Semantics{"elect.sync", decode_elect, {FlowRule::decides}},
    Semantics{"activemask", decode_active_mask, {FlowRule::none}},
};

}  // namespace

std::span<const Semantics> vote_semantics() { return kForms; }

}  // namespace ptxloom::exec
