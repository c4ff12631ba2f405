// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>
#include <cmath>
#include <memory>
#include <vector>

#include "base/mma_sum.hpp"
#include "exec/decoder.hpp"
#include "exec/fragment.hpp"
#include "exec/members.hpp"
#include "exec/warp.hpp"

// mma.sync (PTX ISA 9.7.14): the fragments are taken apart by the maps of the specs, and each element of D is
// summed as the tensor cores of the module's target sum it (base/mma_sum.hpp).
namespace ptxloom::exec {
namespace {

using base::MmaElement;

struct MmaPlan {
  Fragment a, b, c, d;
  base::MmaRule rule;
  bool satfinite = false;

  std::size_t m() const { return static_cast<std::size_t>(a.rows()); }
  std::size_t n() const { return static_cast<std::size_t>(b.cols()); }
  std::size_t k() const { return static_cast<std::size_t>(a.cols()); }
  std::size_t matrices() const { return static_cast<std::size_t>(d.matrices()); }
};

/// Operands in the order D, A, B, C.
std::span<const Slot> slots_of(const Operation& op, std::size_t operand) {
  return std::span(op.slots).subspan(op.first[operand]);
}

// Calls f(row of A, column of B, index in C and D) for each element of D. `a` holds rows, `b` columns.
template <class A, class F>
void for_elements(const MmaPlan& plan, const std::vector<A>& a, const std::vector<A>& b, F f) {
  const std::size_t m = plan.m(), n = plan.n(), k = plan.k();
  for (std::size_t matrix = 0; matrix < plan.matrices(); ++matrix) {
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        f(std::span(a).subspan((matrix * m + i) * k, k), std::span(b).subspan((matrix * n + j) * k, k),
          (matrix * m + i) * n + j);
      }
    }
  }
}

// The elements of an operand, ready to be multiplied.
template <class Element>
std::vector<Element> unpacked(Warp& warp, const Fragment& fragment, std::span<const Slot> slots) {
  std::vector<std::uint32_t> bits;
  fragment.gather(warp.registers(), slots, bits);
  std::vector<Element> elements(bits.size());
  base::unpack_mma(fragment.type(), bits, elements);
  return elements;
}

// sum(row, column, addend) gives the bits of an element of D, of 32 bits or less.
template <class Element, class Sum>
void run_words(Warp& warp, const Operation& op, const MmaPlan& plan, Sum sum) {
  const auto a = unpacked<Element>(warp, plan.a, slots_of(op, 1));
  const auto b = unpacked<Element>(warp, plan.b, slots_of(op, 2));
  std::vector<std::uint32_t> sums;
  plan.c.gather(warp.registers(), slots_of(op, 3), sums);
  for_elements(plan, a, b,
               [&](auto row, auto column, std::size_t at) { sums[at] = sum(row, column, sums[at]); });
  plan.d.scatter<std::uint32_t>(warp.registers(), slots_of(op, 0), sums);
}

void run_f32(Warp& warp, const Operation& op, Mask mask) {
  require_full_warp(warp, op, mask);
  const auto& plan = op.plan_as<MmaPlan>();
  const bool widen = plan.c.type() == f16;
  run_words<MmaElement>(warp, op, plan, [&](auto row, auto column, std::uint32_t c) {
    const std::uint32_t addend = widen ? static_cast<std::uint32_t>(convert(f32, f16, c)) : c;
    return base::dot_f32(row, column, addend, plan.rule);
  });
}

void run_f16(Warp& warp, const Operation& op, Mask mask) {
  require_full_warp(warp, op, mask);
  const auto& plan = op.plan_as<MmaPlan>();
  run_words<MmaElement>(warp, op, plan, [&](auto row, auto column, std::uint32_t c) {
    return base::dot_f16(row, column, c, plan.rule);
  });
}

void run_s32(Warp& warp, const Operation& op, Mask mask) {
  require_full_warp(warp, op, mask);
  const auto& plan = op.plan_as<MmaPlan>();
  run_words<std::int32_t>(warp, op, plan, [&](auto row, auto column, std::uint32_t c) {
    return base::dot_s32(row, column, c, plan.satfinite);
  });
}

// A chain of fma, by the host; which NaN comes of it says the exact arithmetic.
std::uint64_t dot_f64(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b, std::uint64_t c) {
  double sum = std::bit_cast<double>(c);
  for (std::size_t k = 0; k < a.size(); ++k)
    sum = std::fma(std::bit_cast<double>(a[k]), std::bit_cast<double>(b[k]), sum);
  return std::isnan(sum) ? base::dot_f64(a, b, c) : std::bit_cast<std::uint64_t>(sum);
}

void run_f64(Warp& warp, const Operation& op, Mask mask) {
  require_full_warp(warp, op, mask);
  const auto& plan = op.plan_as<MmaPlan>();
  std::vector<std::uint64_t> a, b, sums;
  plan.a.gather(warp.registers(), slots_of(op, 1), a);
  plan.b.gather(warp.registers(), slots_of(op, 2), b);
  plan.c.gather(warp.registers(), slots_of(op, 3), sums);
  for_elements(plan, a, b,
               [&](auto row, auto column, std::size_t at) { sums[at] = dot_f64(row, column, sums[at]); });
  plan.d.scatter<std::uint64_t>(warp.registers(), slots_of(op, 0), sums);
}

// Where the chip sums in halves, a half is what 16 bytes of a row hold.
base::MmaRule rule_of(const TargetInfo& target, const Type& element) {
  return {.fraction_bits = target.mma_fraction_bits, .chunk_k = target.mma_halves ? 128 / element.bits : 0};
}

Semantic semantic_of(const MmaPlan& plan) {
  const Type& d = plan.d.type();
  const bool float_operands =
      plan.a.type().is_float() && plan.b.type().is_float() && plan.a.type().bits >= 16;
  if (d == f64) return &run_f64;
  if (d == s32 && plan.a.type().is_integer()) return &run_s32;
  if (d == f32 && float_operands) return &run_f32;
  if (d == f16 && float_operands) return &run_f16;
  return nullptr;
}

void decode_mma(Decoder& decoder) {
  const auto plan = decoder.plan_of_variant<MmaPlan>([&] {
    auto made = std::make_shared<MmaPlan>();
    made->a = Fragment(decoder, "A");
    made->b = Fragment(decoder, "B", true);
    made->c = Fragment(decoder, "C");
    made->d = Fragment(decoder, "D");
    made->rule = rule_of(decoder.target(), made->a.type());
    made->satfinite = decoder.has("sat");
    return made;
  });
  decoder.emit(semantic_of(*plan), plan);
}

constexpr std::array kForms{
    Semantics{"mma", decode_mma},
    Semantics{"mma.m8n8k4", decode_mma},
};

}  // namespace

std::span<const Semantics> mma_semantics() { return kForms; }

}  // namespace ptxloom::exec
