// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "exec/machine/block.hpp"
#include "exec/machine/decoder.hpp"
#include "exec/machine/grid.hpp"
#include "exec/machine/lanewise.hpp"
#include "ptxloom/numeric.hpp"

// Special registers (PTX ISA 10), read by mov or cvt. The device has one SM, no performance counters and no
// environment registers; a clock counts the warp's instructions, so it reads the same in every run.
namespace ptxloom::exec {
namespace {

using Value = std::uint64_t;

/// The value of a special register in a lane; `axis` is 0 to 2 for registers with x, y and z.
using Special = Value (*)(const Warp& warp, int lane, std::size_t axis);
struct SpecialRegister {
  std::string_view name;
  Special value;
};

const Grid& grid_of(const Warp& warp) { return warp.block().grid(); }

Value tid(const Warp& w, int lane, std::size_t axis) {
  return unflatten(w.thread(lane), grid_of(w).launch().block)[axis];
}
Value ntid(const Warp& w, int, std::size_t axis) { return grid_of(w).launch().block[axis]; }
Value ctaid(const Warp& w, int, std::size_t axis) { return w.block().index()[axis]; }
Value nctaid(const Warp& w, int, std::size_t axis) { return grid_of(w).launch().grid[axis]; }
Value cluster_nctaid(const Warp& w, int, std::size_t axis) { return grid_of(w).cluster()[axis]; }
Value clusterid(const Warp& w, int lane, std::size_t axis) {
  return ctaid(w, lane, axis) / cluster_nctaid(w, lane, axis);
}
Value cluster_ctaid(const Warp& w, int lane, std::size_t axis) {
  return ctaid(w, lane, axis) % cluster_nctaid(w, lane, axis);
}
Value nclusterid(const Warp& w, int, std::size_t axis) { return grid_of(w).cluster_extent()[axis]; }

constexpr std::array kVectors{
    SpecialRegister{"tid", tid},
    SpecialRegister{"ntid", ntid},
    SpecialRegister{"ctaid", ctaid},
    SpecialRegister{"nctaid", nctaid},
    SpecialRegister{"clusterid", clusterid},
    SpecialRegister{"nclusterid", nclusterid},
    SpecialRegister{"cluster_ctaid", cluster_ctaid},
    SpecialRegister{"cluster_nctaid", cluster_nctaid},
};

Value zero(const Warp&, int, std::size_t) { return 0; }
Value one(const Warp&, int, std::size_t) { return 1; }
Value laneid(const Warp&, int lane, std::size_t) { return static_cast<Value>(lane); }
Value warpid(const Warp& w, int, std::size_t) { return w.index(); }
Value nwarpid(const Warp& w, int, std::size_t) { return w.block().warps().size(); }
Value cluster_ctarank(const Warp& w, int, std::size_t) { return w.block().rank(); }
Value cluster_nctarank(const Warp& w, int, std::size_t) { return grid_of(w).cluster_blocks(); }
Value is_explicit_cluster(const Warp& w, int, std::size_t) { return grid_of(w).cluster_blocks() > 1; }
Value lanemask_eq(const Warp&, int lane, std::size_t) { return lane_bit(lane); }
Value lanemask_lt(const Warp&, int lane, std::size_t) { return lane_bit(lane) - 1; }
Value lanemask_le(const Warp&, int lane, std::size_t) { return lane_bit(lane) * 2 - 1; }
Value lanemask_gt(const Warp&, int lane, std::size_t) { return 0u - lane_bit(lane) * 2; }
Value lanemask_ge(const Warp&, int lane, std::size_t) { return 0u - lane_bit(lane); }
Value clock(const Warp& w, int, std::size_t) { return w.steps(); }
Value clock_high(const Warp& w, int, std::size_t) { return w.steps() >> 32; }
Value dynamic_shared(const Warp& w, int, std::size_t) { return grid_of(w).launch().shared_bytes; }
Value own_shared(const Warp& w, int, std::size_t) { return grid_of(w).own_shared_bytes(); }
Value all_shared(const Warp& w, int, std::size_t) {
  return grid_of(w).own_shared_bytes() + grid_of(w).code().sm.shared_reserved;
}

// The reserved part of shared memory, which is zero when a thread block starts. CUDA's cooperative groups
// have barriers at its offset number 1. Where that is on hardware was not measured: the executor has it 32
// bytes in.
Value reserved_begin(const Warp& w, int, std::size_t) { return grid_of(w).reserved_shared().begin; }
Value reserved_end(const Warp& w, int, std::size_t) { return grid_of(w).reserved_shared().end; }
Value reserved_bytes(const Warp& w, int, std::size_t) { return grid_of(w).code().sm.shared_reserved; }
Value reserved_second(const Warp& w, int lane, std::size_t axis) {
  constexpr Value first_bytes = 32;
  return reserved_begin(w, lane, axis) + first_bytes;
}

// %envreg1 and %envreg2 are the workspace of a cooperative grid: CUDA's cooperative groups look there.
Value workspace_high(const Warp& w, int, std::size_t) { return grid_of(w).workspace() >> 32; }
Value workspace_low(const Warp& w, int, std::size_t) { return grid_of(w).workspace() & 0xffff'ffff; }

constexpr std::array kScalars{
    SpecialRegister{"laneid", laneid},
    SpecialRegister{"warpid", warpid},
    SpecialRegister{"nwarpid", nwarpid},
    SpecialRegister{"smid", zero},
    SpecialRegister{"nsmid", one},
    SpecialRegister{"gridid", one},
    SpecialRegister{"cluster_ctarank", cluster_ctarank},
    SpecialRegister{"cluster_nctarank", cluster_nctarank},
    SpecialRegister{"is_explicit_cluster", is_explicit_cluster},
    SpecialRegister{"current_graph_exec", zero},
    SpecialRegister{"lanemask_eq", lanemask_eq},
    SpecialRegister{"lanemask_lt", lanemask_lt},
    SpecialRegister{"lanemask_le", lanemask_le},
    SpecialRegister{"lanemask_gt", lanemask_gt},
    SpecialRegister{"lanemask_ge", lanemask_ge},
    SpecialRegister{"clock", clock},
    SpecialRegister{"clock_hi", clock_high},
    SpecialRegister{"clock64", clock},
    SpecialRegister{"globaltimer", clock},
    SpecialRegister{"globaltimer_lo", clock},
    SpecialRegister{"globaltimer_hi", clock_high},
    SpecialRegister{"dynamic_smem_size", dynamic_shared},
    SpecialRegister{"total_smem_size", own_shared},
    SpecialRegister{"aggr_smem_size", all_shared},
    SpecialRegister{"reserved_smem_offset_begin", reserved_begin},
    SpecialRegister{"reserved_smem_offset_end", reserved_end},
    SpecialRegister{"reserved_smem_offset_cap", reserved_bytes},
    SpecialRegister{"reserved_smem_offset_", reserved_begin},  // followed by 0
    SpecialRegister{"reserved_smem_offset_1", reserved_second},
    SpecialRegister{"pm", zero},  // followed by a number
    SpecialRegister{"envreg1", workspace_high},
    SpecialRegister{"envreg2", workspace_low},
    SpecialRegister{"envreg", zero},  // followed by another number
};

struct SpecialPlan {
  struct Element {
    Special read;
    std::size_t axis = 0;
    int shift = 0;  // to the first bit that the element of the destination has
    Value mask = ~Value{0};
  };
  std::vector<Element> elements;  // one per element of the destination
  Type from, to;                  // of cvt
  Modifiers modifiers;
};

// `value` as cvt extends it to a register wider than its type.
Value converted(const SpecialPlan& plan, Value value) {
  const Value mask = plan.from.bits == 64 ? ~Value{0} : (Value{1} << plan.from.bits) - 1;
  const Value result = convert(plan.to, plan.from, value & mask, plan.modifiers);
  const int unused = 64 - plan.to.bits;
  if (!plan.to.is_signed()) return result;
  return static_cast<Value>(static_cast<std::int64_t>(result << unused) >> unused);
}

void run_special(Warp& warp, const Operation& op, Mask mask) {
  const auto& plan = op.plan_as<SpecialPlan>();
  for (std::size_t i = 0; i < plan.elements.size(); ++i) {
    const SpecialPlan::Element& element = plan.elements[i];
    const Slot& out = op.slots[i];
    const auto value = [&](int lane) {
      const Value raw = element.read(warp, lane, element.axis) >> element.shift & element.mask;
      return plan.to.bits == 0 ? raw : converted(plan, raw);
    };
    for_lanes(mask, [&](int lane) {
      if (out.bytes == 0) {
        Lanes<bool>(warp.registers(), out).set(lane, value(lane) != 0);
      } else if (out.bytes == 4) {
        Lanes<std::uint32_t>(warp.registers(), out).set(lane, static_cast<std::uint32_t>(value(lane)));
      } else {
        Lanes<Value>(warp.registers(), out).set(lane, value(lane));
      }
    });
  }
}

Special find_special(const Decoder& decoder, std::span<const SpecialRegister> among, std::string_view name) {
  const auto found = std::ranges::find(among, name, &SpecialRegister::name);
  if (found == among.end()) decoder.unsupported("the executor does not support this special register");
  return found->value;
}

// The register as the tables name it.
std::string_view name_of(const Decoder& decoder) {
  const std::string_view name = decoder.word("register"), number = decoder.word("number");
  if (name == "envreg" && number == "1") return "envreg1";
  if (name == "envreg" && number == "2") return "envreg2";
  if (name == "reserved_smem_offset_" && number == "1") return "reserved_smem_offset_1";
  return name;
}

SpecialPlan::Element element_of(Decoder& decoder) {
  std::string_view name = name_of(decoder);
  if (name == "envreg1" || name == "envreg2") decoder.mark_workspace();
  if (name.starts_with("reserved_smem_offset")) decoder.mark_reserved_shared();
  if (name.ends_with(".w")) return {zero};
  if (name.size() < 2 || name[name.size() - 2] != '.') return {find_special(decoder, kScalars, name)};
  const auto axis = static_cast<std::size_t>(name.back() - 'x');
  name.remove_suffix(2);
  return {find_special(decoder, kVectors, name), axis};
}

void emit_special(Decoder& decoder, SpecialPlan plan) {
  Operation op = decoder.operation(&run_special);
  op.plan = std::make_shared<SpecialPlan>(std::move(plan));
  decoder.emit(std::move(op));
}

// Into one register, or its parts into several.
void decode_mov(Decoder& decoder) {
  const OperandSpec& out = decoder.variant().operands()[0];
  SpecialPlan plan{.elements = {element_of(decoder)}};
  if (out.count > 0) {
    plan.elements.front().mask = (Value{1} << out.type.bits) - 1;
    plan.elements.resize(static_cast<std::size_t>(out.count), plan.elements.front());
    for (int i = 0; i < out.count; ++i) plan.elements[static_cast<std::size_t>(i)].shift = i * out.type.bits;
  }
  emit_special(decoder, std::move(plan));
}

void decode_cvt(Decoder& decoder) {
  emit_special(decoder,
               {.elements = {element_of(decoder)},
                .from = *find_type(decoder.word("a")),
                .to = *find_type(decoder.word("d")),
                .modifiers = {.saturation = decoder.has("sat") ? Saturation::sat : Saturation::none}});
}

// mov.v4.u32 of %tid and similar; the fourth element is zero.
void decode_vector(Decoder& decoder) {
  const Special read = find_special(decoder, kVectors, decoder.word("register"));
  emit_special(decoder, {.elements = {{read, 0}, {read, 1}, {read, 2}, {zero}}});
}

constexpr std::array kForms{
    Semantics{"mov.special", decode_mov, {FlowRule::none}},
    Semantics{"mov.special.vector", decode_vector, {FlowRule::none}},
    Semantics{"cvt.special", decode_cvt, {FlowRule::none}},
};

}  // namespace

std::span<const Semantics> special_semantics() { return kForms; }

}  // namespace ptxloom::exec
