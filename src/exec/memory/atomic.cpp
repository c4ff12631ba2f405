// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstring>
#include <span>
#include <vector>

#include "exec/machine/decoder.hpp"
#include "exec/machine/fault.hpp"
#include "exec/machine/warp.hpp"
#include "exec/memory/address.hpp"
#include "exec/memory/element.hpp"
#include "exec/memory/reduction.hpp"

// atom and red (PTX ISA 9.7.13.5, 9.7.13.6). Lanes are processed one after another, lowest first. Orders and
// scopes change nothing: memory is coherent here.
namespace ptxloom::exec {
namespace {

struct AtomicPlan {
  Reach reach;
  std::size_t address = 0;  // operand index
  std::uint32_t element_bytes = 4;
  const Reduction* reduction = nullptr;
  bool yields = false;                           // may be a retry loop that waits for others
  std::vector<Slot> result, value, replacement;  // by element; sixteen bytes are two of eight
};

bool is_global(const Reach& reach, std::uint64_t address) {
  return reach.space == StateSpace::global ||
         (reach.space == StateSpace::generic && space_of(address) == StateSpace::global);
}

// The host memory at a lane's address, in a space that supports atomic operations.
std::byte* resolve_atomic(Warp& warp, const Operation& op, int lane, std::uint64_t address,
                          const Reach& reach) {
  const StateSpace space = reach.space == StateSpace::generic ? space_of(address) : StateSpace::global;
  if (space != StateSpace::global && space != StateSpace::shared) {
    fault(warp, op, lane_bit(lane), "atomic-space",
          "it needs global or shared memory, and the address " + describe_address(address) + " is in neither",
          "use an address of global or shared memory");
  }
  return resolve(warp, op, lane, address, reach);
}

template <class F>
void for_atomic_lanes(Warp& warp, const Operation& op, Mask mask, F f) {
  const auto& plan = op.plan_as<AtomicPlan>();
  for (Mask rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const std::uint64_t address = address_of(warp, op.slot(plan.address), lane);
    f(plan, lane, resolve_atomic(warp, op, lane, address, plan.reach), is_global(plan.reach, address));
  }
  if (plan.yields) warp.yield(op, mask);
}

void run_reduction(Warp& warp, const Operation& op, Mask mask) {
  for_atomic_lanes(warp, op, mask, [&](const AtomicPlan& plan, int lane, std::byte* at, bool global) {
    const Reduction::Combine combine = plan.reduction->on(global);
    for (std::size_t i = 0; i < plan.value.size(); ++i, at += plan.element_bytes) {
      std::uint64_t old = 0;
      std::memcpy(&old, at, plan.element_bytes);
      const std::uint64_t now = combine(old, read_element(warp.registers(), plan.value[i], lane));
      std::memcpy(at, &now, plan.element_bytes);
      if (!plan.result.empty()) write_element(warp.registers(), plan.result[i], lane, old);
    }
  });
}

using Words = std::array<std::uint64_t, 2>;

Words read_words(Warp& warp, std::span<const Slot> rows, int lane) {
  Words words{};
  for (std::size_t i = 0; i < rows.size(); ++i) words[i] = read_element(warp.registers(), rows[i], lane);
  return words;
}

// exch and cas of up to sixteen bytes; cas has a replacement.
void run_swap(Warp& warp, const Operation& op, Mask mask) {
  for_atomic_lanes(warp, op, mask, [&](const AtomicPlan& plan, int lane, std::byte* at, bool) {
    Words old{};
    std::memcpy(old.data(), at, plan.element_bytes);
    const Words value = read_words(warp, plan.value, lane);
    const Words next = plan.replacement.empty() ? value : read_words(warp, plan.replacement, lane);
    if (plan.replacement.empty() || std::memcmp(old.data(), value.data(), plan.element_bytes) == 0)
      std::memcpy(at, next.data(), plan.element_bytes);
    for (std::size_t i = 0; i < plan.result.size(); ++i)
      write_element(warp.registers(), plan.result[i], lane, old[i]);
  });
}

std::vector<Slot> rows_of_operand(const Decoder& decoder, const Operation& op, std::string_view name) {
  const int operand = decoder.operand(name);
  if (operand < 0) return {};
  const OperandSpec& spec = decoder.variant().operand(name);
  const std::size_t first = op.first[static_cast<std::size_t>(operand)];
  return rows_of(std::span(op.slots).subspan(first, static_cast<std::size_t>(spec.registers())),
                 spec.type.bits == 128);
}

AtomicPlan plan_of(Decoder& decoder, const Operation& op) {
  const OperandSpec &address = decoder.variant().operand("A"), &value = decoder.variant().operand("B");
  const auto space = find_space(address.space);
  if (!space) decoder.unsupported("the executor does not support this state space");
  const auto bytes = static_cast<std::uint32_t>(value.type.whole_bytes() * value.registers());
  const bool maybe_global = *space == StateSpace::global || *space == StateSpace::generic;
  if (maybe_global) decoder.mark_communicating();
  const bool returns = decoder.operand("D") >= 0;
  const std::string_view sem = decoder.word("sem");
  const bool orders = !sem.empty() && sem != "relaxed";
  const Manner manner = orders ? Manner::ordering : Manner::strong;
  return {.reach = {.space = *space,
                    .access = Access::write,
                    .bytes = bytes,
                    .alignment = bytes,
                    .manner = manner,
                    .acquires = orders && sem != "release",
                    .releases = orders && sem != "acquire",
                    .updates = true,
                    .scope = scope_of(decoder.word("scope")),
                    .element = static_cast<std::uint32_t>(value.type.whole_bytes() / value.type.lanes)},
          .address = static_cast<std::size_t>(decoder.operand("A")),
          .element_bytes = static_cast<std::uint32_t>(value.type.whole_bytes()),
          .yields = returns && maybe_global,
          .result = rows_of_operand(decoder, op, "D"),
          .value = rows_of_operand(decoder, op, "B")};
}

void emit(Decoder& decoder, Operation op, AtomicPlan plan) {
  op.plan = std::make_shared<AtomicPlan>(std::move(plan));
  decoder.emit(std::move(op));
}

void decode_compare_and_swap(Decoder& decoder) {
  Operation op = decoder.operation(&run_swap);
  AtomicPlan plan = plan_of(decoder, op);
  plan.replacement = rows_of_operand(decoder, op, "C");
  plan.yields = true;
  emit(decoder, std::move(op), std::move(plan));
}

void decode_reduction(Decoder& decoder) {
  const bool exchange = decoder.word("op") == "exch";
  Operation op = decoder.operation(exchange ? &run_swap : &run_reduction);
  AtomicPlan plan = plan_of(decoder, op);
  plan.reduction = find_reduction(decoder.word("op"), decoder.word("type"), decoder.has("noftz"));
  if (!exchange && plan.reduction == nullptr) decoder.emit(nullptr);
  emit(decoder, std::move(op), std::move(plan));
}

constexpr std::array kForms{
    Semantics{"atom", decode_reduction, {.rule = FlowRule::update, .stores = true}},
    Semantics{"atom.vector", decode_reduction, {.rule = FlowRule::update, .stores = true}},
    Semantics{"red", decode_reduction, {.rule = FlowRule::update, .stores = true}},
    Semantics{"red.vector", decode_reduction, {.rule = FlowRule::update, .stores = true}},
    Semantics{"multimem.red", decode_reduction, {.rule = FlowRule::update, .stores = true}},
    Semantics{"multimem.red.vector", decode_reduction, {.rule = FlowRule::update, .stores = true}},
    Semantics{"atom.cas", decode_compare_and_swap, {.rule = FlowRule::update, .stores = true}},
};

}  // namespace

std::span<const Semantics> atomic_semantics() { return kForms; }

}  // namespace ptxloom::exec
