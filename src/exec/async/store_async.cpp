// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>

#include "exec/async/transfer.hpp"
#include "exec/machine/block.hpp"
#include "exec/machine/decoder.hpp"
#include "exec/machine/fault.hpp"
#include "exec/memory/address.hpp"
#include "exec/memory/element.hpp"

// st.async, red.async and st.bulk (PTX ISA 9.7.9.12, 9.7.13.7, 9.7.9.13). To shared memory of the cluster,
// values are copies that complete on an mbarrier; to global memory, threads see no difference from st and
// red.
namespace ptxloom::exec {
namespace {

struct StorePlan {
  StateSpace space = StateSpace::cluster;
  std::uint32_t element_bytes = 4;
  const Reduction* reduction = nullptr;
  std::vector<Slot> values;
  std::size_t address = 0, barrier = 0;  // operands
  Scope scope = Scope::gpu;              // of a release, to global memory

  std::uint32_t bytes() const { return element_bytes * static_cast<std::uint32_t>(values.size()); }
};

void run_counted(Warp& warp, const Operation& op, Mask mask) {
  const auto& plan = op.plan_as<StorePlan>();
  const Reach data{.space = plan.space,
                   .access = Access::write,
                   .bytes = plan.bytes(),
                   .alignment = plan.bytes(),
                   .manner = Manner::apart};
  const Reach counter{
      .space = plan.space, .access = Access::write, .bytes = 8, .alignment = 8, .manner = Manner::barrier};
  for (Mask rest = mask; rest != 0; rest &= rest - 1) {
    const Actor actor{&warp, &op, std::countr_zero(rest)};
    const auto place = [&](std::size_t operand, const Reach& reach) {
      return resolve_shared(warp, op, actor.lane, address_of(warp, op.slot(operand), actor.lane), reach);
    };
    const SharedPlace to = place(plan.address, data), barrier = place(plan.barrier, counter);
    if (to.block != barrier.block) {
      fault(actor, "mbarrier-elsewhere",
            fmt::format(
                "the value goes to thread block {} of the cluster, but the mbarrier is in thread block {}",
                to.block->rank(), barrier.block->rank()),
            "use a destination and an mbarrier in the same thread block");
    }
    Transfer transfer(actor, plan.reduction);
    for (std::size_t i = 0; i < plan.values.size(); ++i) {
      const std::uint64_t value = read_element(warp.registers(), plan.values[i], actor.lane);
      transfer.add_value(to.data + i * plan.element_bytes, &value, plan.element_bytes);
    }
    issue(std::move(transfer), barrier, plan.bytes());
  }
}

void run_plain(Warp& warp, const Operation& op, Mask mask) {
  const auto& plan = op.plan_as<StorePlan>();
  const Reach reach{.space = plan.space,
                    .access = Access::write,
                    .bytes = plan.bytes(),
                    .alignment = plan.bytes(),
                    .manner = Manner::ordering,
                    .releases = true,
                    .updates = plan.reduction != nullptr,
                    .scope = plan.scope};
  for_lanes(mask, [&](int lane) {
    std::byte* to = resolve(warp, op, lane, address_of(warp, op.slot(plan.address), lane), reach);
    const std::uint64_t value = read_element(warp.registers(), plan.values[0], lane);
    if (plan.reduction != nullptr) {
      plan.reduction->apply(to, reinterpret_cast<const std::byte*>(&value), plan.element_bytes);
    } else {
      std::memcpy(to, &value, plan.element_bytes);
    }
  });
}

void decode_store(Decoder& decoder) {
  const bool counted = decoder.operand("M") >= 0;
  Operation op = decoder.operation(counted ? &run_counted : &run_plain);
  const OperandSpec &address = decoder.variant().operand("A"), &value = decoder.variant().operand("B");
  const auto space = find_space(address.space);
  if (!space) decoder.unsupported("the executor does not support this state space");
  const bool halves = value.type.bits == 128;
  StorePlan plan{.space = *space,
                 .element_bytes = static_cast<std::uint32_t>(halves ? 8 : value.type.whole_bytes()),
                 .address = static_cast<std::size_t>(decoder.operand("A")),
                 .scope = scope_of(decoder.word("scope"))};
  if (counted) plan.barrier = static_cast<std::size_t>(decoder.operand("M"));
  const auto first = op.first[static_cast<std::size_t>(decoder.operand("B"))];
  plan.values =
      rows_of(std::span(op.slots).subspan(first, static_cast<std::size_t>(value.registers())), halves);
  if (decoder.has("op")) {
    plan.reduction = find_reduction(decoder.word("op"), decoder.word("type"), decoder.has("noftz"));
    if (plan.reduction == nullptr) decoder.emit(nullptr);
  }
  if (!counted) decoder.mark_communicating();
  op.plan = std::make_shared<StorePlan>(std::move(plan));
  decoder.emit(std::move(op));
}

// Operands: address, bytes, 0.
void run_bulk(Warp& warp, const Operation& op, Mask mask) {
  const StateSpace space = op.plan_as<StateSpace>();
  for_lanes(mask, [&](int lane) {
    const std::uint64_t bytes = read_element(warp.registers(), op.slots[1], lane);
    constexpr std::uint64_t most = 16u << 20;
    if (bytes % 8 != 0 || bytes > most) {
      fault(warp, op, lane_bit(lane), "copy-size", fmt::format("it sets {} bytes", bytes),
            fmt::format("set a multiple of 8 bytes, at most {}", most));
    }
    const Reach reach{
        .space = space, .access = Access::write, .bytes = static_cast<std::uint32_t>(bytes), .alignment = 8};
    const std::uint64_t address = address_of(warp, op.slots[0], lane);
    std::memset(resolve_shared(warp, op, lane, address, reach).data, 0, bytes);
  });
}

void decode_bulk(Decoder& decoder) {
  const auto space = find_space(decoder.variant().operand("A").space);
  if (!space) decoder.unsupported("the executor does not support this state space");
  Operation op = decoder.operation(&run_bulk);
  op.plan = std::make_shared<StateSpace>(*space);
  decoder.emit(std::move(op));
}

constexpr std::array kForms{
    Semantics{"st.async", decode_store, {FlowRule::none}},
    Semantics{"red.async", decode_store, {FlowRule::none}},
    Semantics{"st.async.global", decode_store, {.rule = FlowRule::none, .stores = true}},
    Semantics{"red.async.global", decode_store, {FlowRule::none}},
    Semantics{"multimem.st.async", decode_store, {.rule = FlowRule::none, .stores = true}},
    Semantics{"multimem.red.async", decode_store, {FlowRule::none}},
    Semantics{"st.bulk", decode_bulk, {FlowRule::decides}},
};

}  // namespace

std::span<const Semantics> store_async_semantics() { return kForms; }

}  // namespace ptxloom::exec
