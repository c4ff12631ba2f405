// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>

#include "exec/async/async_copies.hpp"
#include "exec/async/mbarrier.hpp"
#include "exec/judge/judge.hpp"
#include "exec/machine/block.hpp"
#include "exec/machine/decoder.hpp"
#include "exec/machine/fault.hpp"
#include "exec/memory/address.hpp"
#include "exec/memory/element.hpp"

// mbarrier.* and cp.async.mbarrier.arrive (PTX ISA 9.7.13.15); the barrier itself is in mbarrier.hpp.
namespace ptxloom::exec {
namespace {

constexpr WaitKind kWait{
    .code = "mbarrier-deadlock",
    .hint =
        "check the arrivals and bytes of the phase: as many must arrive as are expected; and check the "
        "parity that is waited for"};

struct BarrierUse {
  StateSpace space = StateSpace::shared;
  std::size_t address = 0;  // operand index
  int state = -1, number = -1;
  bool returns = false;  // returns a state
  Manner manner = Manner::barrier;
  bool own = false;      // the barrier must be in the thread's own block
  bool parity = false;   // of wait
  bool raises = false;   // tx: expects more bytes; cp.async.mbarrier.arrive: expects one more arrival
  bool expects = false;  // arrive: expects bytes
  bool drop = false;
  bool may_complete = true;
  bool relaxed = false;
  bool for_cta = false;  // it says .cta
};

BarrierUse use_of(Decoder& decoder) {
  const auto space = find_space(decoder.variant().operand("A").space);
  if (!space) decoder.unsupported("the executor does not support this state space");
  const Operation op = decoder.operation(nullptr);
  const int state = decoder.operand("S");
  return {.space = *space,
          .address = static_cast<std::size_t>(decoder.operand("A")),
          .state = state,
          .number = decoder.operand("N"),
          .returns = state >= 0 && !decoder.is_sink(op.slot(static_cast<std::size_t>(state))),
          .relaxed = decoder.word("sem") == "relaxed",
          .for_cta = decoder.word("scope") == "cta"};
}

void emit(Decoder& decoder, Semantic run, const BarrierUse& use) {
  Operation op = decoder.operation(run);
  op.plan = std::make_shared<BarrierUse>(use);
  decoder.emit(std::move(op));
}

SharedPlace place_of(const Actor& actor, const BarrierUse& use) {
  const std::uint64_t address = address_of(*actor.warp, actor.op->slot(use.address), actor.lane);
  const Reach reach{
      .space = use.space, .access = Access::write, .bytes = 8, .alignment = 8, .manner = use.manner};
  const SharedPlace place = resolve_shared(*actor.warp, *actor.op, actor.lane, address, reach);
  if ((use.own || use.returns) && place.block != &actor.warp->block()) {
    fault(actor, "other-block", "the mbarrier is in another thread block of the cluster",
          "from another thread block only arrive or change the expected bytes, without a result");
  }
  return place;
}

std::uint64_t value_of(const Actor& actor, int operand) {
  return read_element(actor.warp->registers(), actor.op->slot(static_cast<std::size_t>(operand)), actor.lane);
}

// Calls f(actor, use, place, barriers) for each lane, lowest first.
template <class F>
void for_barriers(Warp& warp, const Operation& op, Mask mask, F f, bool changes = true) {
  const auto& use = op.plan_as<BarrierUse>();
  for (Mask rest = mask; rest != 0; rest &= rest - 1) {
    const Actor actor{&warp, &op, std::countr_zero(rest)};
    const SharedPlace place = place_of(actor, use);
    if (Judge* judge = warp.judge()) judge->uses(actor, place.data, changes, false);
    f(actor, use, place, place.block->state<Mbarriers>());
  }
}

void run_init(Warp& warp, const Operation& op, Mask mask) {
  for_barriers(warp, op, mask,
               [](const Actor& actor, const BarrierUse& use, const SharedPlace& at, Mbarriers& barriers) {
                 barriers.init(actor, at.offset, static_cast<std::uint32_t>(value_of(actor, use.number)));
                 if (Judge* judge = actor.warp->judge()) judge->barrier_begins(actor, at);
               });
}

void run_invalidate(Warp& warp, const Operation& op, Mask mask) {
  for_barriers(warp, op, mask,
               [](const Actor& actor, const BarrierUse&, const SharedPlace& at, Mbarriers& barriers) {
                 barriers.invalidate(actor, at.offset);
                 if (Judge* judge = actor.warp->judge()) judge->barrier_ends(actor, at);
               });
}

void run_bytes(Warp& warp, const Operation& op, Mask mask) {
  for_barriers(warp, op, mask,
               [](const Actor& actor, const BarrierUse& use, const SharedPlace& at, Mbarriers& barriers) {
                 const auto bytes = static_cast<std::uint32_t>(value_of(actor, use.number));
                 use.raises ? barriers.expect(actor, at.offset, bytes)
                            : barriers.complete(actor, at.offset, bytes);
               });
}

void run_arrive(Warp& warp, const Operation& op, Mask mask) {
  for_barriers(warp, op, mask,
               [](const Actor& actor, const BarrierUse& use, const SharedPlace& at, Mbarriers& barriers) {
                 Mbarriers::Arriving arriving{.drop = use.drop,
                                              .may_complete = use.may_complete,
                                              .relaxed = use.relaxed,
                                              .for_cta = use.for_cta};
                 const auto number =
                     use.number < 0 ? 1 : static_cast<std::uint32_t>(value_of(actor, use.number));
                 (use.expects ? arriving.expected_bytes : arriving.count) = number;
                 const std::uint64_t state = barriers.arrive(actor, at.offset, arriving);
                 if (!use.returns) return;
                 write_element(actor.warp->registers(), actor.op->slot(static_cast<std::size_t>(use.state)),
                               actor.lane, state);
               });
}

void run_copies_arrive(Warp& warp, const Operation& op, Mask mask) {
  for_barriers(warp, op, mask,
               [](const Actor& actor, const BarrierUse& use, const SharedPlace& at, Mbarriers& barriers) {
                 if (use.raises) barriers.add_pending(actor, at.offset);
                 const std::uint64_t issued = actor.warp->state<AsyncCopies>().issued();
                 barriers.after_failed_test(actor, at.offset, [=, &barriers] {
                   actor.warp->state<AsyncCopies>().wait_before(actor.lane, issued);
                   barriers.arrive(actor, at.offset, {});
                 });
               });
}

// All lanes test before anything takes effect, so that lanes with the same barrier see the same.
void run_wait(Warp& warp, const Operation& op, Mask mask) {
  Mask complete = 0;
  std::array<SharedPlace, kLanes> places;
  for_barriers(
      warp, op, mask,
      [&](const Actor& actor, const BarrierUse& use, const SharedPlace& at, Mbarriers& barriers) {
        const std::uint64_t state = value_of(actor, use.state);
        const Passing passing{.relaxed = use.relaxed, .for_cta = use.for_cta};
        const bool is_complete =
            use.parity ? barriers.test_parity(actor, at.offset, static_cast<std::uint32_t>(state), passing)
                       : barriers.test_state(actor, at.offset, state, passing);
        complete |= Mask{is_complete} << actor.lane;
        places[static_cast<std::size_t>(actor.lane)] = at;
      },
      false);
  Lanes<bool>(warp.registers(), op.slots[0]).set(mask, complete);
  const Mask vain = mask & ~complete;
  if (vain == 0) return warp.looked_well();
  for_lanes(vain, [&](int lane) {
    const SharedPlace& at = places[static_cast<std::size_t>(lane)];
    auto& barriers = at.block->state<Mbarriers>();
    Judge* const judge = warp.judge();
    if (judge != nullptr && barriers.counts_copies(at.offset)) judge->tests_too_early({&warp, &op, lane});
    barriers.test_failed(at.offset);
  });
  const SharedPlace& first = places[static_cast<std::size_t>(std::countr_zero(vain))];
  warp.yield(op, vain, kWait, [&barriers = first.block->state<Mbarriers>(), offset = first.offset] {
    return barriers.describe(offset);
  });
}

void run_pending(Warp& warp, const Operation& op, Mask mask) {
  for_lanes(mask, [&](int lane) {
    const Actor actor{&warp, &op, lane};
    const std::uint64_t state = read_element(warp.registers(), op.slots[1], lane);
    write_element(warp.registers(), op.slots[0], lane, Mbarriers::pending_of(actor, state));
  });
}

void decode_init(Decoder& decoder) {
  if (decoder.word("layout") == "layout::v1")
    decoder.unsupported("the executor does not support mbarriers of this layout");
  BarrierUse use = use_of(decoder);
  use.manner = Manner::apart;
  use.own = true;
  emit(decoder, &run_init, use);
}
void decode_invalidate(Decoder& decoder) {
  BarrierUse use = use_of(decoder);
  use.manner = Manner::apart;
  use.own = true;
  emit(decoder, &run_invalidate, use);
}
void decode_bytes(Decoder& decoder) {
  BarrierUse use = use_of(decoder);
  use.raises = decoder.word("op") == "expect_tx";
  emit(decoder, &run_bytes, use);
}
void decode_arrive(Decoder& decoder) {
  BarrierUse use = use_of(decoder);
  use.drop = decoder.word("op") == "arrive_drop";
  emit(decoder, &run_arrive, use);
}
void decode_arrive_expect(Decoder& decoder) {
  BarrierUse use = use_of(decoder);
  use.drop = decoder.word("op") == "arrive_drop";
  use.expects = true;
  emit(decoder, &run_arrive, use);
}
void decode_arrive_early(Decoder& decoder) {
  BarrierUse use = use_of(decoder);
  use.drop = decoder.word("op") == "arrive_drop";
  use.may_complete = false;
  use.own = true;
  emit(decoder, &run_arrive, use);
}
void decode_copies_arrive(Decoder& decoder) {
  BarrierUse use = use_of(decoder);
  if (!decoder.has("space")) use.space = StateSpace::generic;
  use.own = true;
  use.raises = !decoder.has("noinc");
  emit(decoder, &run_copies_arrive, use);
}
void decode_wait(Decoder& decoder) {
  if (decoder.word("phase") == "phase_type::conditional")
    decoder.unsupported("the executor does not support conditional phases");
  BarrierUse use = use_of(decoder);
  use.own = true;
  use.returns = false;
  use.parity = decoder.has("parity");
  emit(decoder, &run_wait, use);
}
void decode_pending(Decoder& decoder) { decoder.emit(decoder.operation(&run_pending)); }

constexpr std::array kForms{
    Semantics{"mbarrier.init", decode_init, {FlowRule::decides}},
    Semantics{"mbarrier.inval", decode_invalidate, {FlowRule::none}},
    Semantics{"mbarrier.tx", decode_bytes, {FlowRule::decides}},
    Semantics{"mbarrier.arrive", decode_arrive, {.rule = FlowRule::decides, .synchronises = true}},
    Semantics{
        "mbarrier.arrive.expect_tx", decode_arrive_expect, {.rule = FlowRule::decides, .synchronises = true}},
    Semantics{
        "mbarrier.arrive.noComplete", decode_arrive_early, {.rule = FlowRule::decides, .synchronises = true}},
    Semantics{"mbarrier.wait", decode_wait, {.rule = FlowRule::decides, .synchronises = true}},
    Semantics{"mbarrier.pending_count", decode_pending, {FlowRule::smear}},
    Semantics{
        "cp.async.mbarrier.arrive", decode_copies_arrive, {.rule = FlowRule::none, .synchronises = true}},
};

}  // namespace

std::span<const Semantics> mbarrier_semantics() { return kForms; }

}  // namespace ptxloom::exec
