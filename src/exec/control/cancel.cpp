// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>

#include "exec/async/transfer.hpp"
#include "exec/machine/cluster.hpp"
#include "exec/machine/decoder.hpp"
#include "exec/machine/fault.hpp"
#include "exec/machine/poison.hpp"
#include "exec/machine/work.hpp"
#include "exec/memory/address.hpp"
#include "exec/memory/element.hpp"

// clusterlaunchcontrol (PTX ISA 9.7.13.17, 9.7.13.18): a cluster takes over one that has not started. The
// response is opaque to programs; here it holds the first thread block's index and whether there was one.
namespace ptxloom::exec {
namespace {

using Answer = std::array<std::uint32_t, 4>;

Answer ask(const Cluster& cluster) {
  const auto taken = cluster.work().take();
  if (!taken) return {};
  const Index3 first = cluster.grid().block_index(*taken, 0);
  return {first[0], first[1], first[2], 1};
}

struct CancelPlan {
  StateSpace space = StateSpace::shared;
  bool to_all = false;  // to all thread blocks of the cluster, at the same offset
};

void answer_to(const Actor& actor, const Answer& answer, StateSpace space, std::uint64_t to,
               std::uint64_t barrier) {
  const auto place = [&](std::uint64_t address, std::uint32_t bytes, Manner manner) {
    const Reach reach{
        .space = space, .access = Access::write, .bytes = bytes, .alignment = bytes, .manner = manner};
    return resolve_shared(*actor.warp, *actor.op, actor.lane, address, reach);
  };
  Transfer transfer(actor);
  transfer.add_value(place(to, sizeof answer, Manner::apart).data, answer.data(), sizeof answer);
  issue(std::move(transfer), place(barrier, 8, Manner::barrier), sizeof answer);
}

void run_try(Warp& warp, const Operation& op, Mask mask) {
  const auto& plan = op.plan_as<CancelPlan>();
  Cluster& cluster = warp.block().cluster();
  for (Mask rest = mask; rest != 0; rest &= rest - 1) {
    const Actor actor{&warp, &op, std::countr_zero(rest)};
    const std::uint64_t to = address_of(warp, op.slots[0], actor.lane);
    const std::uint64_t barrier = address_of(warp, op.slots[1], actor.lane);
    const Answer answer = ask(cluster);
    if (!plan.to_all) {
      answer_to(actor, answer, plan.space, to, barrier);
      continue;
    }
    for (const Block& block : cluster.blocks()) {
      const std::uint32_t base = shared_base(block.rank());
      answer_to(actor, answer, StateSpace::cluster, base + shared_offset(to), base + shared_offset(barrier));
    }
  }
}

Answer read_answer(Warp& warp, const Slot& slot, int lane) {
  Answer answer;
  std::size_t at = 0;
  for (const Slot& half : rows_of(std::span(&slot, 1), true)) {
    const std::uint64_t bits = read_element(warp.registers(), half, lane);
    answer[at++] = static_cast<std::uint32_t>(bits);
    answer[at++] = static_cast<std::uint32_t>(bits >> 32);
  }
  return answer;
}

void run_is_canceled(Warp& warp, const Operation& op, Mask mask) {
  const Lanes<bool> out(warp.registers(), op.slots[0]);
  for_lanes(mask, [&](int lane) { out.set(lane, read_answer(warp, op.slots[1], lane)[3] != 0); });
}

// If no cluster was cancelled, the index is undefined.
void run_first_block(Warp& warp, const Operation& op, Mask mask) {
  const auto axis = op.plan_as<std::size_t>();
  const std::size_t results = op.slots.size() - 1;
  for_lanes(mask, [&](int lane) {
    const Answer answer = read_answer(warp, op.slots.back(), lane);
    for (std::size_t i = 0; i < results; ++i) {
      const bool known = answer[3] != 0 && axis + i < 3;
      write_element(warp.registers(), op.slots[i], lane, known ? answer[axis + i] : 0x0101'0101u * kPoison);
    }
  });
}

void decode_try(Decoder& decoder) {
  const auto space = find_space(decoder.variant().operand("A").space);
  if (!space) decoder.unsupported("the executor does not support this state space");
  decoder.mark_canceling();
  Operation op = decoder.operation(&run_try);
  op.plan = std::make_shared<CancelPlan>(CancelPlan{.space = *space, .to_all = decoder.has("multicast")});
  decoder.emit(std::move(op));
}

void decode_is_canceled(Decoder& decoder) { decoder.emit(decoder.operation(&run_is_canceled)); }

void decode_first_block(Decoder& decoder) {
  const std::string_view axis = decoder.word("axis");
  Operation op = decoder.operation(&run_first_block);
  op.plan = std::make_shared<std::size_t>(axis == "y" ? 1 : axis == "z" ? 2 : 0);
  decoder.emit(std::move(op));
}

constexpr std::array kForms{
    Semantics{"clusterlaunchcontrol.try_cancel", decode_try, {FlowRule::none}},
    Semantics{"clusterlaunchcontrol.is_canceled", decode_is_canceled, {FlowRule::smear}},
    Semantics{"clusterlaunchcontrol.first_ctaid", decode_first_block, {FlowRule::smear}},
};

}  // namespace

std::span<const Semantics> cancel_semantics() { return kForms; }

}  // namespace ptxloom::exec
