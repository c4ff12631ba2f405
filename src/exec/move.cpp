// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <vector>

#include "exec/block.hpp"
#include "exec/decoder.hpp"
#include "exec/lanewise.hpp"
#include "exec/address.hpp"

// mov: copies, packing and unpacking of vectors, special registers; and conversions of addresses (cvta).
namespace ptxloom::exec {
namespace {

// The address of a variable: 64 bits, of which a 32-bit register takes the lower half.
void decode_mov_symbol(Decoder& decoder) {
  decoder.emit(decoder.word("type").ends_with("64")
                   ? lanewise<std::uint64_t>([](std::uint64_t a) { return a; })
                   : lanewise<std::uint64_t>([](std::uint64_t a) { return static_cast<std::uint32_t>(a); }));
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
      value[static_cast<std::size_t>(offset / 64)] |= (read_part(warp, part, lane) & low_bits(part.bits)) << (offset % 64);
      offset += part.bits;
    }
    offset = 0;
    for (const Part& part : plan.to) {
      write_part(warp, part, lane, value[static_cast<std::size_t>(offset / 64)] >> (offset % 64) & low_bits(part.bits));
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

/// The value of a special register in a lane.
using Special = std::uint64_t (*)(const Warp& warp, int lane);

Index3 thread_index(const Warp& warp, int lane) { return unflatten(warp.thread(lane), warp.block().grid().launch().block); }
const Launch& launch_of(const Warp& warp) { return warp.block().grid().launch(); }
std::uint64_t warps_of(const Warp& warp) { return warp.block().warps().size(); }

// %clock counts instructions: a time that is the same in every run. There is one SM.
struct SpecialRegister {
  std::string_view name;
  Special value;
};
constexpr std::array kSpecials{
    SpecialRegister{"tid.x", [](const Warp& w, int lane) -> std::uint64_t { return thread_index(w, lane)[0]; }},
    SpecialRegister{"tid.y", [](const Warp& w, int lane) -> std::uint64_t { return thread_index(w, lane)[1]; }},
    SpecialRegister{"tid.z", [](const Warp& w, int lane) -> std::uint64_t { return thread_index(w, lane)[2]; }},
    SpecialRegister{"ntid.x", [](const Warp& w, int) -> std::uint64_t { return launch_of(w).block[0]; }},
    SpecialRegister{"ntid.y", [](const Warp& w, int) -> std::uint64_t { return launch_of(w).block[1]; }},
    SpecialRegister{"ntid.z", [](const Warp& w, int) -> std::uint64_t { return launch_of(w).block[2]; }},
    SpecialRegister{"ctaid.x", [](const Warp& w, int) -> std::uint64_t { return w.block().index()[0]; }},
    SpecialRegister{"ctaid.y", [](const Warp& w, int) -> std::uint64_t { return w.block().index()[1]; }},
    SpecialRegister{"ctaid.z", [](const Warp& w, int) -> std::uint64_t { return w.block().index()[2]; }},
    SpecialRegister{"nctaid.x", [](const Warp& w, int) -> std::uint64_t { return launch_of(w).grid[0]; }},
    SpecialRegister{"nctaid.y", [](const Warp& w, int) -> std::uint64_t { return launch_of(w).grid[1]; }},
    SpecialRegister{"nctaid.z", [](const Warp& w, int) -> std::uint64_t { return launch_of(w).grid[2]; }},
    SpecialRegister{"laneid", [](const Warp&, int lane) -> std::uint64_t { return static_cast<std::uint64_t>(lane); }},
    SpecialRegister{"warpid", [](const Warp& w, int) -> std::uint64_t { return w.index(); }},
    SpecialRegister{"nwarpid", [](const Warp& w, int) -> std::uint64_t { return warps_of(w); }},
    SpecialRegister{"smid", [](const Warp&, int) -> std::uint64_t { return 0; }},
    SpecialRegister{"nsmid", [](const Warp&, int) -> std::uint64_t { return 1; }},
    SpecialRegister{"gridid", [](const Warp&, int) -> std::uint64_t { return 1; }},
    SpecialRegister{"lanemask_eq", [](const Warp&, int lane) -> std::uint64_t { return lane_bit(lane); }},
    SpecialRegister{"lanemask_lt", [](const Warp&, int lane) -> std::uint64_t { return lane_bit(lane) - 1; }},
    SpecialRegister{"lanemask_le", [](const Warp&, int lane) -> std::uint64_t { return lane_bit(lane) * 2 - 1; }},
    SpecialRegister{"lanemask_gt", [](const Warp&, int lane) -> std::uint64_t { return 0u - lane_bit(lane) * 2; }},
    SpecialRegister{"lanemask_ge", [](const Warp&, int lane) -> std::uint64_t { return 0u - lane_bit(lane); }},
    SpecialRegister{"clock", [](const Warp& w, int) -> std::uint64_t { return w.steps(); }},
    SpecialRegister{"clock_hi", [](const Warp& w, int) -> std::uint64_t { return w.steps() >> 32; }},
    SpecialRegister{"clock64", [](const Warp& w, int) -> std::uint64_t { return w.steps(); }},
    SpecialRegister{"globaltimer", [](const Warp& w, int) -> std::uint64_t { return w.steps(); }},
    SpecialRegister{"globaltimer_lo", [](const Warp& w, int) -> std::uint64_t { return w.steps(); }},
    SpecialRegister{"globaltimer_hi", [](const Warp& w, int) -> std::uint64_t { return w.steps() >> 32; }},
    SpecialRegister{"dynamic_smem_size", [](const Warp& w, int) -> std::uint64_t { return launch_of(w).shared_bytes; }},
    SpecialRegister{"total_smem_size", [](const Warp& w, int) -> std::uint64_t { return w.block().grid().shared_bytes(); }},
};

struct SpecialPlan {
  std::vector<Special> values;  // one for each element of the destination
};

void run_special(Warp& warp, const Operation& op, Mask mask) {
  const auto& plan = op.plan_as<SpecialPlan>();
  for (std::size_t i = 0; i < plan.values.size(); ++i) {
    const Part part{.slot = op.slots[i], .bits = 64};
    for_lanes(mask, [&](int lane) { write_part(warp, part, lane, plan.values[i](warp, lane)); });
  }
}

Special find_special(const Decoder& decoder, std::string_view name) {
  const auto found = std::ranges::find(kSpecials, name, &SpecialRegister::name);
  if (found == kSpecials.end()) decoder.unsupported("the executor does not have this special register");
  return found->value;
}

void decode_special(Decoder& decoder) {
  decoder.emit(&run_special, std::make_shared<SpecialPlan>(SpecialPlan{{find_special(decoder, decoder.word("register"))}}));
}

// mov.v4.u32 of %tid and its kind; the fourth element is zero.
void decode_special_vector(Decoder& decoder) {
  SpecialPlan plan;
  for (const char* axis : {".x", ".y", ".z"}) {
    plan.values.push_back(find_special(decoder, std::string(decoder.word("register")) + axis));
  }
  plan.values.push_back([](const Warp&, int) -> std::uint64_t { return 0; });
  decoder.emit(&run_special, std::make_shared<SpecialPlan>(std::move(plan)));
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
    Semantics{"mov.address", decode_mov_symbol},
    Semantics{"mov.pack", decode_spread},
    Semantics{"mov.unpack", decode_spread},
    Semantics{"mov.special", decode_special},
    Semantics{"mov.special.vector", decode_special_vector},
    Semantics{"cvta", decode_cvta},
};

}  // namespace

std::span<const Semantics> move_semantics() { return kForms; }

}  // namespace ptxloom::exec
