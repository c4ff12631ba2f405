// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "exec/address.hpp"
#include "exec/block.hpp"
#include "exec/decoder.hpp"
#include "exec/lanewise.hpp"

// mov: copies, packing and unpacking of vectors, special registers; and conversions of addresses (cvta).
namespace ptxloom::exec {
namespace {

void decode_mov_address(Decoder& decoder) {
  decoder.emit(lanewise<std::uint64_t>([](std::uint64_t a) { return a; }));
}

// The address of a variable is a constant of 64 bits, here cut to the 32 that the spaces with small addresses
// need.
void decode_mov_address32(Decoder& decoder) {
  decoder.emit(lanewise<std::uint64_t>([](std::uint64_t a) { return static_cast<std::uint32_t>(a); }));
}

// The bits of all sources, lowest first, spread over all destinations.
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
    std::array<std::uint64_t, 2> value{};  // 128 bits at most; no part crosses the middle
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

void decode_spread(Decoder& decoder) {
  Operation op = decoder.operation(&run_spread);
  auto plan = std::make_shared<SpreadPlan>();
  plan->to = parts_of(op, decoder.variant(), 0);
  plan->from = parts_of(op, decoder.variant(), 1);
  op.plan = std::move(plan);
  decoder.emit(std::move(op));
}

void decode_mov(Decoder& decoder) {
  const std::string_view type = decoder.word("type");
  if (type == "b128") return decode_spread(decoder);
  if (type == "pred") return decoder.emit(lanewise<bool>([](bool a) { return a; }));
  decoder.emit(type.ends_with("64") ? lanewise<std::uint64_t>([](std::uint64_t a) { return a; })
                                    : lanewise<std::uint32_t>([](std::uint32_t a) { return a; }));
}

/// The value of a special register in a lane; `axis` is 0 to 2 of those with x, y and z.
using Special = std::uint64_t (*)(const Warp& warp, int lane, std::size_t axis);
struct SpecialRegister {
  std::string_view name;
  Special value;
};

const Launch& launch_of(const Warp& warp) { return warp.block().grid().launch(); }
std::uint64_t thread_index(const Warp& warp, int lane, std::size_t axis) {
  return unflatten(warp.thread(lane), launch_of(warp).block)[axis];
}

// Every block is a cluster of its own.
constexpr std::array kVectors{
    SpecialRegister{"tid", thread_index},
    SpecialRegister{
        "ntid",
        [](const Warp& w, int, std::size_t axis) -> std::uint64_t { return launch_of(w).block[axis]; }},
    SpecialRegister{
        "ctaid",
        [](const Warp& w, int, std::size_t axis) -> std::uint64_t { return w.block().index()[axis]; }},
    SpecialRegister{
        "nctaid",
        [](const Warp& w, int, std::size_t axis) -> std::uint64_t { return launch_of(w).grid[axis]; }},
    SpecialRegister{
        "clusterid",
        [](const Warp& w, int, std::size_t axis) -> std::uint64_t { return w.block().index()[axis]; }},
    SpecialRegister{
        "nclusterid",
        [](const Warp& w, int, std::size_t axis) -> std::uint64_t { return launch_of(w).grid[axis]; }},
    SpecialRegister{"cluster_ctaid", [](const Warp&, int, std::size_t) -> std::uint64_t { return 0; }},
    SpecialRegister{"cluster_nctaid", [](const Warp&, int, std::size_t) -> std::uint64_t { return 1; }},
};

std::uint64_t zero(const Warp&, int, std::size_t) { return 0; }
std::uint64_t one(const Warp&, int, std::size_t) { return 1; }
std::uint64_t steps(const Warp& warp, int, std::size_t) { return warp.steps(); }
std::uint64_t steps_high(const Warp& warp, int, std::size_t) { return warp.steps() >> 32; }

// A clock counts instructions: a time that is the same in every run. There is one SM.
constexpr std::array kScalars{
    SpecialRegister{"laneid",
                    [](const Warp&, int lane, std::size_t) { return static_cast<std::uint64_t>(lane); }},
    SpecialRegister{"warpid", [](const Warp& w, int, std::size_t) -> std::uint64_t { return w.index(); }},
    SpecialRegister{
        "nwarpid", [](const Warp& w, int, std::size_t) -> std::uint64_t { return w.block().warps().size(); }},
    SpecialRegister{"smid", zero},
    SpecialRegister{"nsmid", one},
    SpecialRegister{"gridid", one},
    SpecialRegister{"cluster_ctarank", zero},
    SpecialRegister{"cluster_nctarank", one},
    SpecialRegister{"lanemask_eq",
                    [](const Warp&, int lane, std::size_t) -> std::uint64_t { return lane_bit(lane); }},
    SpecialRegister{"lanemask_lt",
                    [](const Warp&, int lane, std::size_t) -> std::uint64_t { return lane_bit(lane) - 1; }},
    SpecialRegister{
        "lanemask_le",
        [](const Warp&, int lane, std::size_t) -> std::uint64_t { return lane_bit(lane) * 2 - 1; }},
    SpecialRegister{
        "lanemask_gt",
        [](const Warp&, int lane, std::size_t) -> std::uint64_t { return 0u - lane_bit(lane) * 2; }},
    SpecialRegister{"lanemask_ge",
                    [](const Warp&, int lane, std::size_t) -> std::uint64_t { return 0u - lane_bit(lane); }},
    SpecialRegister{"clock", steps},
    SpecialRegister{"clock_hi", steps_high},
    SpecialRegister{"clock64", steps},
    SpecialRegister{"globaltimer", steps},
    SpecialRegister{"globaltimer_lo", steps},
    SpecialRegister{"globaltimer_hi", steps_high},
    SpecialRegister{
        "dynamic_smem_size",
        [](const Warp& w, int, std::size_t) -> std::uint64_t { return launch_of(w).shared_bytes; }},
    SpecialRegister{
        "total_smem_size",
        [](const Warp& w, int, std::size_t) -> std::uint64_t { return w.block().grid().shared_bytes(); }},
};

struct SpecialPlan {
  struct Value {
    Special read;
    std::size_t axis = 0;
  };
  std::vector<Value> values;  // one for each element of the destination
};

void run_special(Warp& warp, const Operation& op, Mask mask) {
  const auto& plan = op.plan_as<SpecialPlan>();
  for (std::size_t i = 0; i < plan.values.size(); ++i) {
    const Part part{.slot = op.slots[i], .bits = 64};
    const SpecialPlan::Value& value = plan.values[i];
    for_lanes(mask, [&](int lane) { write_part(warp, part, lane, value.read(warp, lane, value.axis)); });
  }
}

Special find_special(const Decoder& decoder, std::span<const SpecialRegister> among, std::string_view name) {
  const auto found = std::ranges::find(among, name, &SpecialRegister::name);
  if (found == among.end()) decoder.unsupported("the executor does not have this special register");
  return found->value;
}

void decode_special(Decoder& decoder) {
  std::string_view name = decoder.word("register");
  SpecialPlan plan;
  if (name.ends_with(".w")) {
    plan.values = {{zero}};
  } else if (name.size() > 2 && name[name.size() - 2] == '.') {
    const auto axis = static_cast<std::size_t>(name.back() - 'x');
    name.remove_suffix(2);
    plan.values = {{find_special(decoder, kVectors, name), axis}};
  } else {
    plan.values = {{find_special(decoder, kScalars, name)}};
  }
  decoder.emit(&run_special, std::make_shared<SpecialPlan>(std::move(plan)));
}

// mov.v4.u32 of %tid and its kind; the fourth element is zero.
void decode_special_vector(Decoder& decoder) {
  const Special read = find_special(decoder, kVectors, decoder.word("register"));
  decoder.emit(&run_special,
               std::make_shared<SpecialPlan>(SpecialPlan{{{read, 0}, {read, 1}, {read, 2}, {zero}}}));
}

// cvta adds the window of the space, cvta.to takes it away; global addresses are generic ones.
void run_cvta(Warp& warp, const Operation& op, Mask mask) {
  const std::uint64_t offset = op.plan_as<std::uint64_t>();
  const Lanes<std::uint64_t> out(warp.registers(), op.slots[0]), in(warp.registers(), op.slots[1]);
  for_lanes(mask, [&](int lane) { out.set(lane, in[lane] + offset); });
}

void decode_cvta(Decoder& decoder) {
  const auto space = find_space(decoder.word("space"));
  if (!space) decoder.unsupported("the executor does not have this state space");
  const std::uint64_t offset = window(*space);
  decoder.emit(&run_cvta, std::make_shared<std::uint64_t>(decoder.has("to") ? 0 - offset : offset));
}

constexpr std::array kForms{
    Semantics{"mov", decode_mov},
    Semantics{"mov.address", decode_mov_address},
    Semantics{"mov.address.32", decode_mov_address32},
    Semantics{"mov.pack", decode_spread},
    Semantics{"mov.unpack", decode_spread},
    Semantics{"mov.special", decode_special},
    Semantics{"mov.special.vector", decode_special_vector},
    Semantics{"cvta", decode_cvta},
};

}  // namespace

std::span<const Semantics> move_semantics() { return kForms; }

}  // namespace ptxloom::exec
