// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>
#include <cmath>

#include "exec/arithmetic/directed.hpp"
#include "exec/arithmetic/half.hpp"
#include "exec/arithmetic/select.hpp"
#include "exec/machine/decoder.hpp"
#include "exec/machine/lanewise.hpp"

// Comparison and selection (PTX ISA 9.7.6), and testp. A comparison yields a mask of the lanes where it
// holds; using the mask (for one predicate, two, a register, or combined with another) is the same for all
// types.
namespace ptxloom::exec {
namespace {

/// Compares element `half` of operands a and b in the lanes of the mask.
using Comparison = Mask (*)(Warp& warp, const Slot& a, const Slot& b, int half, Mask mask);

// Converts a half to a float with the same upper bits: exact for bf16; f16 patterns are ordered like their
// values too, except NaN, which is mapped to one. bf16 has no .ftz.
enum class HalfType : std::uint8_t { f16, f16_flushed, bf16 };
template <HalfType format>
float half_in_order(std::uint32_t lane, int half) {
  const std::uint32_t bits = half == 0 ? lane << 16 : lane & 0xffff'0000;
  if constexpr (format == HalfType::bf16) return std::bit_cast<float>(bits);
  const std::uint32_t kept = when(format == HalfType::f16 || (bits & Half::kInfinity << 16) != 0, bits),
                      nan = when((bits & ~kSign32) > Half::kInfinity << 16, kNan32);
  return std::bit_cast<float>(kept | nan);
}

template <class T, class F>
Mask compare_numbers(Warp& warp, const Slot& a, const Slot& b, int, Mask mask) {
  const Lanes<T> left(warp.registers(), a), right(warp.registers(), b);
  Mask result = 0;
  for_lanes(mask, [&](int lane) { result |= Mask{F{}(left[lane], right[lane])} << lane; });
  return result;
}
template <class T, class F>
Comparison numbers(F) {
  return base::fastest<&compare_numbers<T, F>>();
}

template <HalfType format, class F>
Mask compare_halves(Warp& warp, const Slot& a, const Slot& b, int half, Mask mask) {
  const Lanes<std::uint32_t> left(warp.registers(), a), right(warp.registers(), b);
  Mask result = 0;
  for_lanes(mask, [&](int lane) {
    result |= Mask{F{}(half_in_order<format>(left[lane], half), half_in_order<format>(right[lane], half))}
              << lane;
  });
  return result;
}
template <HalfType format, class F>
Comparison halves(F) {
  return base::fastest<&compare_halves<format, F>>();
}

template <class F>
Comparison of_type(std::string_view type, bool ftz, F f) {
  // clang-format off
  if (type == "u16" || type == "b16") return numbers<std::uint16_t>(f);
  if (type == "s16") return numbers<std::int16_t>(f);
  if (type == "u32" || type == "b32") return numbers<std::uint32_t>(f);
  if (type == "s32") return numbers<std::int32_t>(f);
  if (type == "u64" || type == "b64") return numbers<std::uint64_t>(f);
  if (type == "s64") return numbers<std::int64_t>(f);
  // clang-format on
  if (type == "f32") {
    return ftz ? numbers<float>([](float a, float b) { return F{}(flush_input(a), flush_input(b)); })
               : numbers<float>(f);
  }
  if (type == "f64") return numbers<double>(f);
  if (type.starts_with("f16")) return ftz ? halves<HalfType::f16_flushed>(f) : halves<HalfType::f16>(f);
  if (type.starts_with("bf16")) return halves<HalfType::bf16>(f);
  return nullptr;
}

bool unordered(auto a, auto b) { return (a != a) | (b != b); }

// Ordered comparisons are false for NaN, the ones with u are true. lo, ls, hi, hs are lt, le, gt, ge of
// unsigned.
Comparison comparison_of(std::string_view cmp, std::string_view type, bool ftz) {
  const auto of = [&](auto f) { return of_type(type, ftz, f); };
  if (cmp == "eq") return of([](auto a, auto b) { return a == b; });
  if (cmp == "ne") return of([](auto a, auto b) -> bool { return (a != b) & !unordered(a, b); });
  if (cmp == "lt" || cmp == "lo") return of([](auto a, auto b) { return a < b; });
  if (cmp == "le" || cmp == "ls") return of([](auto a, auto b) { return a <= b; });
  if (cmp == "gt" || cmp == "hi") return of([](auto a, auto b) { return a > b; });
  if (cmp == "ge" || cmp == "hs") return of([](auto a, auto b) { return a >= b; });
  if (cmp == "equ") return of([](auto a, auto b) -> bool { return (a == b) | unordered(a, b); });
  if (cmp == "neu") return of([](auto a, auto b) { return a != b; });
  if (cmp == "ltu") return of([](auto a, auto b) { return !(a >= b); });
  if (cmp == "leu") return of([](auto a, auto b) { return !(a > b); });
  if (cmp == "gtu") return of([](auto a, auto b) { return !(a <= b); });
  if (cmp == "geu") return of([](auto a, auto b) { return !(a < b); });
  if (cmp == "num") return of([](auto a, auto b) { return !unordered(a, b); });
  if (cmp == "nan") return of([](auto a, auto b) { return unordered(a, b); });
  return nullptr;
}

enum class Combine : std::uint8_t { none, with_and, with_or, with_xor };

struct ComparePlan {
  Comparison compare = nullptr;
  Combine combine = Combine::none;
  bool packed = false;
  int q = -1, a = 0, b = 0, c = -1;  // operands; -1 if absent
  std::uint32_t yes = 0;             // the value of true in the destination of set
};

ComparePlan plan_of(Decoder& decoder) {
  const std::string_view type = decoder.word("type"), combine = decoder.word("logic");
  ComparePlan plan{.compare = comparison_of(decoder.word("cmp"), type, decoder.has("ftz")),
                   .packed = type.ends_with("x2"),
                   .q = decoder.operand("Q"),
                   .a = decoder.operand("A"),
                   .b = decoder.operand("B"),
                   .c = decoder.operand("C")};
  if (plan.compare == nullptr) decoder.unsupported("the executor has no semantics for this comparison");
  if (combine == "and") plan.combine = Combine::with_and;
  if (combine == "or") plan.combine = Combine::with_or;
  if (combine == "xor") plan.combine = Combine::with_xor;
  return plan;
}

Mask combined(Warp& warp, const Operation& op, const ComparePlan& plan, Mask compared) {
  if (plan.combine == Combine::none) return compared;
  const Mask c = Lanes<bool>(warp.registers(), op.slot(static_cast<std::size_t>(plan.c))).mask();
  if (plan.combine == Combine::with_and) return compared & c;
  return plan.combine == Combine::with_or ? compared | c : compared ^ c;
}

void run_setp(Warp& warp, const Operation& op, Mask mask) {
  const auto& plan = op.plan_as<ComparePlan>();
  const Slot &a = op.slot(static_cast<std::size_t>(plan.a)), &b = op.slot(static_cast<std::size_t>(plan.b));
  const Mask low = plan.compare(warp, a, b, 0, mask);
  const Mask other =
      plan.packed ? plan.compare(warp, a, b, 1, mask) : ~low;  // q: the other half, or the opposite
  const Mask p = combined(warp, op, plan, low), q = combined(warp, op, plan, other);
  Lanes<bool>(warp.registers(), op.slots[0]).set(mask, p);
  if (plan.q >= 0) Lanes<bool>(warp.registers(), op.slot(static_cast<std::size_t>(plan.q))).set(mask, q);
}

void decode_setp(Decoder& decoder) {
  decoder.emit(&run_setp, std::make_shared<ComparePlan>(plan_of(decoder)));
}

void run_set(Warp& warp, const Operation& op, Mask mask) {
  const auto& plan = op.plan_as<ComparePlan>();
  const Slot &a = op.slot(static_cast<std::size_t>(plan.a)), &b = op.slot(static_cast<std::size_t>(plan.b));
  const Mask low = combined(warp, op, plan, plan.compare(warp, a, b, 0, mask));
  const Mask high = plan.packed ? combined(warp, op, plan, plan.compare(warp, a, b, 1, mask)) : 0;
  const Lanes<std::uint32_t> out(warp.registers(), op.slots[0]);
  const std::uint32_t yes = plan.yes, yes_above = plan.yes << 16;
  for_lanes(mask, [&](int lane) {
    out.set(lane, ((0 - (low >> lane & 1)) & yes) | ((0 - (high >> lane & 1)) & yes_above));
  });
}

// True is 1.0 for a floating destination and all ones for an integer one; packed sources give one result per
// half.
void decode_set(Decoder& decoder) {
  ComparePlan plan = plan_of(decoder);
  const std::string_view d = decoder.word("dst");
  if (d == "f32")
    plan.yes = 0x3f80'0000;
  else if (d.starts_with("f16"))
    plan.yes = 0x3c00;
  else if (d.starts_with("bf16"))
    plan.yes = 0x3f80;
  else
    plan.yes = d.ends_with("16") || plan.packed ? 0xffff : 0xffff'ffff;
  decoder.emit(base::fastest<&run_set>(), std::make_shared<ComparePlan>(plan));
}

// A selection moves bits: only the size of the type matters.
void decode_selp(Decoder& decoder) {
  using W = std::uint32_t;
  using D = std::uint64_t;
  decoder.emit(decoder.word("type").ends_with("64")
                   ? lanewise<D, D, bool>([](D a, D b, bool c) { return select(c, a, b); })
                   : lanewise<W, W, bool>([](W a, W b, bool c) { return select(c, a, b); }));
}

template <class C, class F>
Semantic select_by(bool wide, F) {
  using W = std::uint32_t;
  using D = std::uint64_t;
  return wide ? lanewise<D, D, C>([](D a, D b, C c) { return F{}(c) ? a : b; })
              : lanewise<W, W, C>([](W a, W b, C c) { return F{}(c) ? a : b; });
}

void decode_slct(Decoder& decoder) {
  const bool wide = decoder.word("type").ends_with("64");
  if (decoder.word("sign") == "s32")
    return decoder.emit(select_by<std::int32_t>(wide, [](std::int32_t c) { return c >= 0; }));
  decoder.emit(decoder.has("ftz") ? select_by<float>(wide, [](float c) { return flush_input(c) >= 0; })
                                  : select_by<float>(wide, [](float c) { return c >= 0; }));
}

// Zeros count as normal (PTX ISA 9.7.3.1).
template <class T>
Semantic test_of(std::string_view kind) {
  if (kind == "finite") return lanewise<T>([](T a) { return std::isfinite(a); });
  if (kind == "infinite") return lanewise<T>([](T a) { return std::isinf(a); });
  if (kind == "number") return lanewise<T>([](T a) { return !std::isnan(a); });
  if (kind == "notanumber") return lanewise<T>([](T a) { return std::isnan(a); });
  if (kind == "normal") return lanewise<T>([](T a) { return std::isnormal(a) || a == 0; });
  return lanewise<T>([](T a) { return std::fpclassify(a) == FP_SUBNORMAL; });
}

void decode_testp(Decoder& decoder) {
  const std::string_view kind = decoder.word("kind");
  if (kind.empty()) decoder.unsupported("what testp without a kind tests is not published");
  decoder.emit(decoder.word("type") == "f64" ? test_of<double>(kind) : test_of<float>(kind));
}

// Those of the operand that is chosen.
template <class Chooser>
std::uint64_t chosen(std::span<const FlowOperand> in, Chooser chooses_first) {
  if (in[2].undefined != 0) return ~std::uint64_t{0};
  return in[chooses_first(in[2].value) ? 0 : 1].undefined;
}

std::uint64_t selection_flow(std::span<const FlowOperand> in, std::size_t) {
  return chosen(in, [](std::uint64_t c) { return c != 0; });
}

template <bool ftz>
bool is_at_least_0(std::uint64_t bits) {
  const auto c = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  return (ftz ? flush_input(c) : c) >= 0;
}

FormFlow sign_selection_flow(const Variant& variant) {
  if (variant.slot("sign") == "s32") {
    return computed_by([](std::span<const FlowOperand> in, std::size_t) {
      return chosen(in, [](std::uint64_t c) { return static_cast<std::int32_t>(c) >= 0; });
    });
  }
  if (!variant.slot("ftz"))
    return computed_by(
        [](std::span<const FlowOperand> in, std::size_t) { return chosen(in, &is_at_least_0<false>); });
  return computed_by(
      [](std::span<const FlowOperand> in, std::size_t) { return chosen(in, &is_at_least_0<true>); });
}

constexpr std::array kForms{
    Semantics{"setp", decode_setp, {FlowRule::smear}},
    Semantics{"set", decode_set, {FlowRule::smear}},
    Semantics{"selp", decode_selp, computed_by(selection_flow)},
    Semantics{"slct", decode_slct, {.of_variant = sign_selection_flow}},
    Semantics{"testp", decode_testp, {FlowRule::smear}},
};

}  // namespace

std::span<const Semantics> compare_semantics() { return kForms; }

}  // namespace ptxloom::exec
