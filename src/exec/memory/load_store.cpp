// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>
#include <cstring>
#include <vector>

#include "exec/judge/judge.hpp"
#include "exec/machine/decoder.hpp"
#include "exec/machine/lanewise.hpp"
#include "exec/memory/address.hpp"
#include "exec/memory/element.hpp"

// ld and st in every space (PTX ISA 9.7.9.8 to 9.7.9.11). Memory is coherent and has no caches here: orders,
// scopes, cache operators and priorities change nothing.
namespace ptxloom::exec {
namespace {

struct AccessPlan {
  Reach reach;
  std::vector<Slot> values;   // one per element; a sixteen-byte element is two of eight
  std::uint32_t skipped = 0;  // bit mask: elements that a store skips
  bool yields = false;        // may be a polling loop that waits for others
};

template <class T>
T read(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// A register wider than T receives the sign-extended value.
template <class T>
void run_load(Warp& warp, const Operation& op, Mask mask) {
  const auto& plan = op.plan_as<AccessPlan>();
  Pointers from;
  resolve(warp, op, mask, op.slots.back(), plan.reach, from);
  for (std::size_t i = 0; i < plan.values.size(); ++i) {
    const auto value = [&](int lane) {
      return read<T>(from[static_cast<std::size_t>(lane)] + i * sizeof(T));
    };
    if (plan.values[i].bytes == 4) {
      const Lanes<std::uint32_t> out(warp.registers(), plan.values[i]);
      for_lanes(mask, [&](int lane) { out.set(lane, static_cast<std::uint32_t>(value(lane))); });
    } else {
      const Lanes<std::uint64_t> out(warp.registers(), plan.values[i]);
      for_lanes(mask, [&](int lane) { out.set(lane, static_cast<std::uint64_t>(value(lane))); });
    }
  }
  if (plan.yields) warp.yield(op, mask);
}

// Detects values that other lanes of the same instruction have overwritten.
template <class T>
void judge_store(Warp& warp, const Operation& op, Mask mask, const Pointers& to) {
  const auto& plan = op.plan_as<AccessPlan>();
  Mask lost = 0;
  for (std::size_t i = 0; i < plan.values.size(); ++i) {
    if ((plan.skipped >> i & 1) != 0) continue;
    for_lanes(mask, [&](int lane) {
      const auto value = static_cast<T>(read_element(warp.registers(), plan.values[i], lane));
      const bool is_there = read<T>(to[static_cast<std::size_t>(lane)] + i * sizeof(T)) == value;
      lost |= Mask{!is_there} << lane;
    });
  }
  if (lost != 0) warp.judge()->lost(warp, op, lost, to);
}

template <class T>
void run_store(Warp& warp, const Operation& op, Mask mask) {
  const auto& plan = op.plan_as<AccessPlan>();
  Pointers to;
  resolve(warp, op, mask, op.slots.front(), plan.reach, to);
  for (std::size_t i = 0; i < plan.values.size(); ++i) {
    if ((plan.skipped >> i & 1) != 0) continue;
    const auto store = [&](const auto& in) {
      for_lanes(mask, [&](int lane) {
        const T value = static_cast<T>(in[lane]);
        std::memcpy(to[static_cast<std::size_t>(lane)] + i * sizeof(T), &value, sizeof value);
      });
    };
    if (plan.values[i].bytes == 4) {
      store(Lanes<std::uint32_t>(warp.registers(), plan.values[i]));
    } else {
      store(Lanes<std::uint64_t>(warp.registers(), plan.values[i]));
    }
  }
  if (warp.judge() != nullptr && plan.reach.manner == Manner::weak) judge_store<T>(warp, op, mask, to);
}

// Threads may wait for each other by strong accesses.
Manner manner_of(const Decoder& decoder) {
  const std::string_view order = decoder.word("sem");
  if (order == "relaxed" || order == "volatile") return Manner::strong;
  const bool orders = order == "acquire" || order == "release";
  return orders ? Manner::ordering : Manner::weak;
}

void emit_access(Decoder& decoder, Semantic run, const OperandSpec& address, const OperandSpec& value,
                 Access access, bool read_only = false) {
  const auto space = decoder.space_of(address.name);
  if (!space) decoder.unsupported("the executor does not support this state space");
  Operation op = decoder.operation(run);
  const auto registers = static_cast<std::size_t>(value.registers());
  const auto first = op.slots.begin() + (access == Access::read ? 0 : 1);
  const auto bytes = static_cast<std::uint32_t>(value.type.whole_bytes() * value.registers());
  auto plan = std::make_shared<AccessPlan>();
  plan->reach = {
      .space = *space, .access = access, .bytes = bytes, .alignment = bytes, .manner = manner_of(decoder)};
  plan->reach.acquires = plan->reach.manner == Manner::ordering && access == Access::read;
  plan->reach.releases = plan->reach.manner == Manner::ordering && access == Access::write;
  plan->reach.scope = scope_of(decoder.word("scope"));
  plan->reach.element = static_cast<std::uint32_t>(value.type.whole_bytes() / value.type.lanes);
  plan->reach.read_only = read_only;
  plan->values = rows_of({first, registers}, value.type.bits == 128);
  for (std::uint32_t i = 0; i < registers; ++i) {
    if (!decoder.is_sink(first[i])) continue;
    if (access == Access::write) plan->skipped |= 1u << i;
    const auto lanes = static_cast<std::uint32_t>(value.type.lanes);
    plan->reach.sinks |= ((1u << lanes) - 1) << i * lanes;
  }
  if (plan->reach.manner != Manner::weak) {
    if (*space == StateSpace::global || *space == StateSpace::generic) decoder.mark_communicating();
    plan->yields = access == Access::read;
  }
  // The operand after value and address is a cache policy.
  op.slots.resize(registers + 1);
  op.plan = std::move(plan);
  decoder.emit(std::move(op));
}

void decode_load_as(Decoder& decoder, bool read_only) {
  const OperandSpec &value = decoder.variant().operand("D"), &address = decoder.variant().operand("A");
  const bool sign = value.type.is_signed();
  const auto emit = [&](Semantic run) { emit_access(decoder, run, address, value, Access::read, read_only); };
  switch (value.type.whole_bytes()) {
    case 1:
      return emit(sign ? &run_load<std::int8_t> : &run_load<std::uint8_t>);
    case 2:
      return emit(sign ? &run_load<std::int16_t> : &run_load<std::uint16_t>);
    case 4:
      return emit(sign ? &run_load<std::int32_t> : &run_load<std::uint32_t>);
    default:
      return emit(&run_load<std::uint64_t>);
  }
}

void decode_load(Decoder& decoder) { decode_load_as(decoder, false); }
void decode_read_only_load(Decoder& decoder) { decode_load_as(decoder, true); }

void decode_store(Decoder& decoder) {
  const OperandSpec &value = decoder.variant().operand("B"), &address = decoder.variant().operand("A");
  const auto emit = [&](Semantic run) { emit_access(decoder, run, address, value, Access::write); };
  switch (value.type.whole_bytes()) {
    case 1:
      return emit(&run_store<std::uint8_t>);
    case 2:
      return emit(&run_store<std::uint16_t>);
    case 4:
      return emit(&run_store<std::uint32_t>);
    default:
      return emit(&run_store<std::uint64_t>);
  }
}

constexpr std::array kForms{
    Semantics{"ldu", decode_read_only_load, {FlowRule::loaded}},
    Semantics{"ld.unified", decode_load, {FlowRule::loaded}},
    Semantics{"st.param", decode_store, {.rule = FlowRule::none, .exact = true}},
    Semantics{"ld", decode_load, {FlowRule::loaded}},
    Semantics{"ld.mmio", decode_load, {FlowRule::loaded}},
    Semantics{"ld.param", decode_load, {FlowRule::loaded}},
    Semantics{"ld.nc", decode_read_only_load, {FlowRule::loaded}},
    Semantics{"st", decode_store, {.rule = FlowRule::none, .stores = true, .exact = true}},
    Semantics{"st.mmio", decode_store, {.rule = FlowRule::none, .stores = true, .exact = true}},
    // With one device, a multimem address is that of its memory.
    Semantics{"multimem.ld_reduce", decode_load, {FlowRule::loaded}},
    Semantics{"multimem.ld_reduce.float", decode_load, {FlowRule::loaded}},
    Semantics{"multimem.st", decode_store, {.rule = FlowRule::none, .stores = true, .exact = true}},
    Semantics{"multimem.st.float", decode_store, {.rule = FlowRule::none, .stores = true, .exact = true}},
};

}  // namespace

std::span<const Semantics> memory_semantics() { return kForms; }

}  // namespace ptxloom::exec
