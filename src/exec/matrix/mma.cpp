// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "exec/arithmetic/rounding.hpp"
#include "exec/machine/decoder.hpp"
#include "exec/machine/members.hpp"
#include "exec/machine/warp.hpp"
#include "exec/matrix/block_scales.hpp"
#include "exec/matrix/fragment.hpp"
#include "exec/matrix/metadata.hpp"
#include "exec/matrix/product.hpp"
#include "exec/matrix/undefined_elements.hpp"

// mma.sync and mma.sp.sync, with and without block scales (PTX ISA 9.7.14.5, 9.7.14.6): the fragments are
// gathered by the maps of the specs, multiplied (product.hpp), and scattered again.
namespace ptxloom::exec {
namespace {

struct MmaPlan {
  Fragment a, b, c, d;
  Product product;
  std::optional<Metadata> metadata;
  std::optional<BlockScales> scales_a, scales_b;
};

/// Operands in the order D, A, B, C.
std::span<const Slot> slots_of(const Operation& op, std::size_t operand) {
  return std::span(op.slots).subspan(op.first[operand]);
}

// Gathers operands A, B and C.
template <class Factors>
Factors gather(Warp& warp, const Operation& op, const MmaPlan& plan) {
  Factors factors;
  plan.a.gather(warp.registers(), slots_of(op, 1), factors.a);
  plan.b.gather(warp.registers(), slots_of(op, 2), factors.b);
  plan.c.gather(warp.registers(), slots_of(op, 3), factors.sums);
  return factors;
}

// Each element of D gets the undefined bits of the elements it is computed from.
void carry_undefined(Warp& warp, const Operation& op, const MmaPlan& plan,
                     std::span<const std::uint16_t> picked) {
  if (warp.judge() == nullptr) return;
  Warp* const warps[] = {&warp};
  const UndefinedElements undefined(*warp.judge(), warps);
  if (!undefined.any(slots_of(op, 1))) return undefined.define(slots_of(op, 0).first(plan.d.registers()));
  UndefinedFactors factors{.a = undefined.flags(plan.a, slots_of(op, 1)),
                           .b = undefined.flags(plan.b, slots_of(op, 2)),
                           .sums = undefined.flags(plan.c, slots_of(op, 3))};
  const auto mark = [&](std::vector<bool>& elements, std::size_t depth, const auto& source) {
    if (source) mark_lines(elements, depth, undefined.flags(source->fragment(warp, op), source->slots(op)));
  };
  mark(factors.a, plan.product.k, plan.metadata);
  mark(factors.a, plan.product.k, plan.scales_a);
  mark(factors.b, plan.product.depth, plan.scales_b);
  multiply_undefined(plan.product, picked, factors);
  undefined.set_flags(plan.d, slots_of(op, 0), factors.sums);
}

void run(Warp& warp, const Operation& op, Mask mask) {
  require_full_warp(warp, op, mask);
  const auto& plan = op.plan_as<MmaPlan>();
  auto factors = gather<Factors>(warp, op, plan);
  Warp* const warps[] = {&warp};
  if (plan.metadata) factors.picked = plan.metadata->picked(warps, op);
  if (plan.scales_a) factors.scales_a = plan.scales_a->gather(warp, op);
  if (plan.scales_b) factors.scales_b = plan.scales_b->gather(warp, op);
  plan.product.apply(factors);
  plan.d.scatter<std::uint32_t>(warp.registers(), slots_of(op, 0), factors.sums);
  carry_undefined(warp, op, plan, factors.picked);
}

void run_f64(Warp& warp, const Operation& op, Mask mask) {
  require_full_warp(warp, op, mask);
  const auto& plan = op.plan_as<MmaPlan>();
  auto factors = gather<WideFactors>(warp, op, plan);
  plan.product.apply(factors);
  plan.d.scatter<std::uint64_t>(warp.registers(), slots_of(op, 0), factors.sums);
  carry_undefined(warp, op, plan, {});
}

MmaUnit unit_of(const Decoder& decoder) {
  if (decoder.variant().form() == "mma.m8n8k4") return MmaUnit::m8n8k4;
  return decoder.word("kind").starts_with("mxf4") ? MmaUnit::mma_fp4 : MmaUnit::mma;
}

Product product_of(const Decoder& decoder, const MmaPlan& plan) {
  Product product;
  product.a = plan.a.type();
  product.b = plan.b.type();
  product.c = plan.c.type();
  product.d = plan.d.type();
  product.matrices = static_cast<std::size_t>(plan.d.matrices());
  product.m = static_cast<std::size_t>(plan.a.rows());
  product.n = static_cast<std::size_t>(plan.b.cols());
  product.k = static_cast<std::size_t>(plan.a.cols());
  product.depth = static_cast<std::size_t>(plan.b.rows());
  product.arithmetic = mma_arithmetic(decoder.target(), unit_of(decoder), product.a, plan.a.cols());
  product.satfinite = decoder.has("sat");
  product.exclusive = product.a == b1 && decoder.word("op") == "xor";
  product.rounding = rounding_of(decoder.word("rnd"));
  if (plan.scales_a) {
    product.scale = plan.scales_a->type();
    product.blocks = static_cast<std::size_t>(plan.scales_a->blocks());
  }
  return product;
}

void decode_mma(Decoder& decoder) {
  const auto plan = decoder.plan_of_variant<MmaPlan>([&] {
    auto made = std::make_shared<MmaPlan>();
    made->a = Fragment(decoder, "A");
    made->b = Fragment(decoder, "B", true);
    made->c = Fragment(decoder, "C");
    made->d = Fragment(decoder, "D");
    if (decoder.operand("E") >= 0) {
      const bool ordered = decoder.variant().opcode().find("ordered_metadata") != std::string_view::npos;
      made->metadata.emplace(decoder, made->a.cols(), ordered);
    }
    if (decoder.operand("SA") >= 0) {
      made->scales_a.emplace(decoder, "SA", "BA", "TA");
      made->scales_b.emplace(decoder, "SB", "BB", "TB");
    }
    made->product = product_of(decoder, *made);
    return made;
  });
  if (!plan->product.known()) return decoder.emit(nullptr);
  decoder.emit(plan->product.d == f64 ? &run_f64 : &run, plan);
}

constexpr std::array kForms{
    Semantics{"mma", decode_mma, {FlowRule::matrix}},
    Semantics{"mma.m8n8k4", decode_mma, {FlowRule::matrix}},
    Semantics{"mma.sp", decode_mma, {FlowRule::matrix}},
    Semantics{"mma.block_scale", decode_mma, {FlowRule::matrix}},
    Semantics{"mma.sp.block_scale", decode_mma, {FlowRule::matrix}},
};

}  // namespace

std::span<const Semantics> mma_semantics() { return kForms; }

}  // namespace ptxloom::exec
