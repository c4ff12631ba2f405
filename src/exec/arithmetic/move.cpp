// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <vector>

#include "exec/machine/decoder.hpp"
#include "exec/machine/lanewise.hpp"

// mov: copies, addresses, packing and unpacking of vectors. Special registers are in special.cpp.
namespace ptxloom::exec {
namespace {

void decode_mov_address(Decoder& decoder) {
  decoder.emit(lanewise<std::uint64_t>([](std::uint64_t a) { return a; }));
}

// The address of a variable is a 64-bit constant, truncated here to the 32 bits that spaces with small
// addresses need.
void decode_mov_address32(Decoder& decoder) {
  decoder.emit(lanewise<std::uint64_t>([](std::uint64_t a) { return static_cast<std::uint32_t>(a); }));
}

// The address of a function has 64 bits; ptxas accepts truncating it to a register of any type.
void decode_mov_function(Decoder& decoder) {
  const std::string_view type = decoder.word("type");
  if (type == "pred") return decoder.emit(lanewise<std::uint64_t>([](std::uint64_t a) { return a != 0; }));
  decoder.emit(type.ends_with("64") || type == "b128"
                   ? lanewise<std::uint64_t>([](std::uint64_t a) { return a; })
                   : lanewise<std::uint64_t>([](std::uint64_t a) { return static_cast<std::uint32_t>(a); }));
}

// Distributes the bits of all sources, lowest first, over all destinations.
struct Part {
  Slot slot;
  int bits = 32;
};
struct SpreadPlan {
  std::vector<Part> to, from;
};

std::uint64_t read_part(Warp& warp, const Part& part, int lane) {
  if (part.slot.bytes == 4) return Lanes<std::uint32_t>(warp.registers(), part.slot)[lane];
  return Lanes<std::uint64_t>(warp.registers(), part.slot)[lane];
}
void write_part(Warp& warp, const Part& part, int lane, std::uint64_t value) {
  if (part.slot.bytes == 4) {
    Lanes<std::uint32_t>(warp.registers(), part.slot).set(lane, static_cast<std::uint32_t>(value));
  } else {
    Lanes<std::uint64_t>(warp.registers(), part.slot).set(lane, value);
  }
}

std::uint64_t low_bits(int count) { return count == 64 ? ~0ull : (1ull << count) - 1; }

void run_spread(Warp& warp, const Operation& op, Mask mask) {
  const auto& plan = op.plan_as<SpreadPlan>();
  for_lanes(mask, [&](int lane) {
    std::array<std::uint64_t, 2> value{};  // at most 128 bits; no part crosses the middle
    int offset = 0;
    for (const Part& part : plan.from) {
      value[static_cast<std::size_t>(offset / 64)] |= (read_part(warp, part, lane) & low_bits(part.bits))
                                                      << (offset % 64);
      offset += part.bits;
    }
    offset = 0;
    for (const Part& part : plan.to) {
      write_part(warp, part, lane,
                 value[static_cast<std::size_t>(offset / 64)] >> (offset % 64) & low_bits(part.bits));
      offset += part.bits;
    }
  });
}

std::vector<Part> parts_of(const Operation& op, const Variant& variant, std::size_t operand) {
  const std::size_t end = operand + 1 < variant.operands().size() ? op.first[operand + 1] : op.slots.size();
  const int bits = variant.operands()[operand].type.bits;
  std::vector<Part> parts;  // sixteen bytes are two rows of lanes
  for (std::size_t i = op.first[operand]; i < end; ++i) {
    Slot slot = op.slots[i];
    if (bits != 128) {
      parts.push_back({.slot = slot, .bits = bits});
      continue;
    }
    slot.bytes = 8;
    parts.push_back({.slot = slot, .bits = 64});
    slot.offset += 8 * kLanes;
    parts.push_back({.slot = slot, .bits = 64});
  }
  return parts;
}

// Two registers packed into one of twice the width, or the reverse: the case that compilers emit most.
template <class Part, class Whole>
Semantic join() {
  return lanewise<Part, Part>([](Part low, Part high) {
    return static_cast<Whole>(static_cast<Whole>(low) | static_cast<Whole>(high) << (8 * sizeof(Part)));
  });
}
template <class Part, class Whole>
void run_split(Warp& warp, const Operation& op, Mask mask) {
  const Lanes<Part> low(warp.registers(), op.slots[0]), high(warp.registers(), op.slots[1]);
  const Lanes<Whole> whole(warp.registers(), op.slots[2]);
  for_lanes(mask, [&](int lane) {
    const Whole value = whole[lane];
    low.set(lane, static_cast<Part>(value));
    high.set(lane, static_cast<Part>(value >> (8 * sizeof(Part))));
  });
}

bool are(const std::vector<Part>& parts, std::size_t count, int bits) {
  return parts.size() == count &&
         std::ranges::all_of(parts, [&](const Part& part) { return part.bits == bits; });
}

// Null for all other cases, whose parts are moved one by one.
Semantic halves_of(const SpreadPlan& plan) {
  using base::fastest;
  if (are(plan.to, 1, 64) && are(plan.from, 2, 32)) return join<std::uint32_t, std::uint64_t>();
  if (are(plan.to, 1, 32) && are(plan.from, 2, 16)) return join<std::uint16_t, std::uint32_t>();
  if (are(plan.to, 2, 32) && are(plan.from, 1, 64))
    return fastest<&run_split<std::uint32_t, std::uint64_t>>();
  if (are(plan.to, 2, 16) && are(plan.from, 1, 32))
    return fastest<&run_split<std::uint16_t, std::uint32_t>>();
  return nullptr;
}

// `repeat`: one register for all elements of a vector.
void emit_spread(Decoder& decoder, bool repeat) {
  Operation op = decoder.operation(&run_spread);
  auto plan = std::make_shared<SpreadPlan>();
  plan->to = parts_of(op, decoder.variant(), 0);
  plan->from = parts_of(op, decoder.variant(), 1);
  if (repeat) plan->from.resize(plan->to.size(), plan->from.front());
  if (const Semantic halves = repeat ? nullptr : halves_of(*plan)) op.run = halves;
  op.plan = std::move(plan);
  decoder.emit(std::move(op));
}

void decode_spread(Decoder& decoder) { emit_spread(decoder, false); }
void decode_vector(Decoder& decoder) { emit_spread(decoder, decoder.operand("A") < 0); }

void decode_mov(Decoder& decoder) {
  const std::string_view type = decoder.word("type");
  if (type == "b128") return decode_spread(decoder);
  if (type == "pred") return decoder.emit(lanewise<bool>([](bool a) { return a; }));
  decoder.emit(type.ends_with("64") ? lanewise<std::uint64_t>([](std::uint64_t a) { return a; })
                                    : lanewise<std::uint32_t>([](std::uint32_t a) { return a; }));
}

// Element by element, or one register for all.
FormFlow vector_flow(const Variant& variant) {
  if (variant.slot("vector")) return {FlowRule::pack};
  return computed_by([](std::span<const FlowOperand> in, std::size_t) { return in[0].undefined; });
}

constexpr std::array kForms{
    Semantics{"mov", decode_mov, {.rule = FlowRule::pack, .moves = true}},
    Semantics{"mov.address", decode_mov_address, {FlowRule::none}},
    Semantics{"mov.address.32", decode_mov_address32, {FlowRule::none}},
    Semantics{"mov.function", decode_mov_function, {FlowRule::none}},
    Semantics{"mov.pack", decode_spread, {FlowRule::pack}},
    Semantics{"mov.unpack", decode_spread, {FlowRule::pack}},
    Semantics{"mov.vector", decode_vector, {.of_variant = vector_flow}},
};

}  // namespace

std::span<const Semantics> move_semantics() { return kForms; }

}  // namespace ptxloom::exec
