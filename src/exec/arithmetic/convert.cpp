// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <utility>

#include "exec/arithmetic/elementwise.hpp"
#include "exec/arithmetic/host_convert.hpp"
#include "exec/arithmetic/rounding.hpp"
#include "exec/machine/bit_flow.hpp"
#include "exec/machine/decoder.hpp"
#include "ptxloom/numeric.hpp"

// Conversions (PTX ISA 9.7.9.21). Integer to integer uses C++ conversions, floats use the host's arithmetic
// (host_convert.hpp), element by element for packed types. The bits equal those of convert() in numeric.hpp.
namespace ptxloom::exec {
namespace {

Type type_of(const Decoder& decoder, std::string_view word) {
  if (word.ends_with("x2")) word.remove_suffix(2);
  const auto type = find_type(word);
  if (!type) decoder.unsupported("the executor does not support conversions of this type");
  return *type;
}

// Null unless both types are integers.
Semantic integer_conversion(std::string_view to, std::string_view from) {
  return with_any_integer(from, [&]<class From>() {
    return with_any_integer(
        to, []<class To>() { return lanewise<From>([](From value) { return static_cast<To>(value); }); });
  });
}

/// The values of From that fit a narrower integer, or one of other signedness.
template <class From>
struct Range {
  From lowest = 0, highest = 0;
};

// Results are as wide as their register, and sign-extended.
template <class From, class To>
void emit_saturated(Decoder& decoder) {
  using Out = std::conditional_t<(sizeof(To) > 4), std::uint64_t, std::uint32_t>;
  using Source = std::numeric_limits<From>;
  using Target = std::numeric_limits<To>;
  const Range<From> range{
      .lowest =
          std::cmp_less(Source::min(), Target::min()) ? static_cast<From>(Target::min()) : Source::min(),
      .highest =
          std::cmp_greater(Source::max(), Target::max()) ? static_cast<From>(Target::max()) : Source::max()};
  const Semantic run = planned<Range<From>, From>([](const Range<From>& r, From value) {
    const From raised = value < r.lowest ? r.lowest : value;
    return static_cast<Out>(raised > r.highest ? r.highest : raised);
  });
  decoder.emit(run, std::make_shared<Range<From>>(range));
}

bool emit_integer_conversion(Decoder& decoder, std::string_view to, std::string_view from) {
  if (!decoder.has("sat")) {
    const Semantic plain = integer_conversion(to, from);
    if (plain != nullptr) decoder.emit(plain);
    return plain != nullptr;
  }
  bool emitted = false;
  with_any_integer(from, [&]<class From>() {
    return with_any_integer(to, [&]<class To>() -> Semantic {
      emit_saturated<From, To>(decoder);
      emitted = true;
      return nullptr;
    });
  });
  return emitted;
}

void decode_cvt(Decoder& decoder) {
  const std::string_view d = decoder.word("d"), a = decoder.word("a"), rounding = decoder.word("rnd");
  if (emit_integer_conversion(decoder, d, a)) return;
  const Type to = type_of(decoder, d), from = type_of(decoder, a);
  Modifiers modifiers = modifiers_of(decoder);
  // f32 subnormals, which .ftz would flush, are rounded to f16 like any other value (as on an H200:
  // cvt.rp.ftz.f16.f32 of one gives the smallest f16).
  if (to == f16) modifiers.ftz = false;
  const bool integral = to.is_float() && rounding.ends_with('i');
  if (!emit_host_conversion(decoder, to, from, integral, modifiers)) decoder.emit(nullptr);
}

// One f32 to a narrower type, or two to a pair: the first operand becomes the upper half.
void decode_from_f32(Decoder& decoder) {
  const std::string_view d = decoder.word("d");
  emit_narrowing(decoder, type_of(decoder, d), f32, {.inputs = d.ends_with("x2") ? 2 : 1},
                 modifiers_of(decoder));
}

void refuse_scaled(const Decoder& decoder) {
  if (decoder.has("scaled")) decoder.unsupported("the executor does not support scaled conversions");
}

/// To a pair of narrow values, from two f32 or from a pair of f16 or bf16.
void emit_pair(Decoder& decoder, const Type& to, const Modifiers& modifiers) {
  refuse_scaled(decoder);
  const std::string_view from = decoder.word("a");
  if (from.ends_with("x2"))
    return emit_narrowing(decoder, to, type_of(decoder, from), {.elements = 2}, modifiers);
  emit_narrowing(decoder, to, f32, {.inputs = 2}, modifiers);
}

void decode_to_narrow(Decoder& decoder) {
  Modifiers modifiers = modifiers_of(decoder);
  modifiers.saturation = Saturation::satfinite;
  emit_pair(decoder, type_of(decoder, decoder.word("d")), modifiers);
}

void decode_to_unsigned(Decoder& decoder) { emit_pair(decoder, ue5m3, modifiers_of(decoder)); }

void decode_f16x2_from_narrow(Decoder& decoder) {
  emit_widening(decoder, f16, type_of(decoder, decoder.word("a")), modifiers_of(decoder));
}

/// Two's complement with six bits behind the point, of which every value is one of bf16.
std::uint32_t from_fixed(std::uint16_t pair, bool relu) {
  const auto half = [&](unsigned shift) {
    const auto fixed = static_cast<std::int8_t>(pair >> shift);
    return std::bit_cast<std::uint32_t>(static_cast<float>(relu && fixed < 0 ? 0 : fixed) / 64) >> 16;
  };
  return half(8) << 16 | half(0);
}

void emit_from_fixed(Decoder& decoder) {
  using Pair = std::uint16_t;
  decoder.emit(decoder.has("relu") ? lanewise<Pair>([](Pair pair) { return from_fixed(pair, true); })
                                   : lanewise<Pair>([](Pair pair) { return from_fixed(pair, false); }));
}

void decode_bf16x2_from_narrow(Decoder& decoder) {
  refuse_scaled(decoder);
  if (decoder.word("a") == "s2f6x2") return emit_from_fixed(decoder);
  emit_widening(decoder, bf16, type_of(decoder, decoder.word("a")), modifiers_of(decoder));
}

void decode_tf32(Decoder& decoder) { emit_narrowing(decoder, tf32, f32, {}, modifiers_of(decoder)); }

void decode_scale(Decoder& decoder) {
  if (decoder.word("a") == "bf16x2")
    return emit_narrowing(decoder, ue8m0, bf16, {.elements = 2}, modifiers_of(decoder));
  emit_narrowing(decoder, ue8m0, f32, {.inputs = 2}, modifiers_of(decoder));
}

void decode_bf16x2_from_scale(Decoder& decoder) { emit_widening(decoder, bf16, ue8m0, {}); }

// Two s32 clamped to `bits` bits each, above what was packed before (operand C of the narrow ones).
struct PackPlan {
  std::uint32_t bits = 16, mask = 0;
  std::int32_t lowest = 0, highest = 0;

  std::uint32_t clamped(std::int32_t value) const {
    return static_cast<std::uint32_t>(std::clamp(value, lowest, highest)) & mask;
  }
  std::uint32_t operator()(std::int32_t a, std::int32_t b) const { return clamped(a) << bits | clamped(b); }
};

void decode_pack(Decoder& decoder) {
  using W = std::uint32_t;
  using S = std::int32_t;
  const std::string_view d = decoder.word("d");
  PackPlan plan;
  plan.bits = d.ends_with("16") ? 16 : static_cast<W>(d.back() - '0');
  plan.mask = (1u << plan.bits) - 1;
  plan.lowest = d.front() == 's' ? -(1 << (plan.bits - 1)) : 0;
  plan.highest = (1 << (d.front() == 's' ? plan.bits - 1 : plan.bits)) - 1;
  const bool chained = plan.bits < 16;
  decoder.emit(chained ? planned<PackPlan, S, S, W>(
                             [](const PackPlan& p, S a, S b, W c) { return c << (2 * p.bits) | p(a, b); })
                       : planned<PackPlan, S, S>([](const PackPlan& p, S a, S b) { return p(a, b); }),
               std::make_shared<PackPlan>(plan));
}

// Integers without .sat keep the low bits.
FormFlow conversion_flow(const Variant& variant) {
  if (variant.slot("sat")) return {FlowRule::smear};
  return computed_by(with_any_integer(variant.slot("a").value_or(""), [&]<class From>() {
    return with_any_integer(variant.slot("d").value_or(""), []<class To>() {
      return moves<1, From>([](From value) { return static_cast<To>(value); });
    });
  }));
}

// Each element of a pair is converted from an operand of its own.
FormFlow pair_flow(const Variant& variant) {
  std::string_view name = variant.slot("d").value_or("ue8m0x2");
  if (!name.ends_with("x2")) return {FlowRule::smear};
  name.remove_suffix(2);
  const auto element = find_type(name);
  if (!element) return {FlowRule::smear};
  if (element->bits == 16) return computed_by(joined<16>());
  return computed_by(name == "e2m1" ? joined<4>() : joined<8>());
}

FormFlow narrowed_pair_flow(const Variant& variant) {
  return computed_by(variant.slot("d") == "e2m1x2" ? halves<4>() : halves<8>());
}

FormFlow scale_flow(const Variant& variant) {
  return variant.slot("a") == "bf16x2" ? computed_by(halves<8>()) : pair_flow(variant);
}

constexpr std::array kForms{
    Semantics{"cvt", decode_cvt, {.of_variant = conversion_flow}},
    Semantics{"cvt.f16.f32", decode_from_f32, {.of_variant = pair_flow}},
    Semantics{"cvt.tf32", decode_tf32, {FlowRule::smear}},
    Semantics{"cvt.fp8.f32", decode_to_narrow, {.of_variant = pair_flow}},
    Semantics{"cvt.fp8.f16x2", decode_to_narrow, {.of_variant = narrowed_pair_flow}},
    Semantics{"cvt.ue5m3", decode_to_unsigned, {FlowRule::smear}},
    Semantics{"cvt.f16x2.fp8", decode_f16x2_from_narrow, computed_by(halves<16>())},
    Semantics{"cvt.bf16x2.fp8", decode_bf16x2_from_narrow, computed_by(halves<16>())},
    Semantics{"cvt.ue8m0", decode_scale, {.of_variant = scale_flow}},
    Semantics{"cvt.bf16x2.ue8m0", decode_bf16x2_from_scale, computed_by(halves<16>())},
    Semantics{"cvt.pack", decode_pack, {FlowRule::smear}},
};

}  // namespace

std::span<const Semantics> convert_semantics() { return kForms; }

}  // namespace ptxloom::exec
