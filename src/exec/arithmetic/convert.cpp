// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "exec/arithmetic/host_float.hpp"
#include "exec/arithmetic/lanewise.hpp"
#include "exec/arithmetic/rounding.hpp"
#include "exec/machine/decoder.hpp"
#include "ptxloom/numeric.hpp"

// Conversions (PTX ISA 9.7.9.21). Integers to integers go through C++, the common ones of floats through the
// host (host_float.hpp), the rest through the exact conversions of numeric.hpp, element by element where a
// type is packed.
namespace ptxloom::exec {
namespace {

struct ConvertPlan {
  Type to, from;
  Modifiers modifiers;
  bool integral = false;  // cvt.rni.f32.f32: to an integral value of the same type
  int inputs = 1;         // registers that hold one element each; the first is the highest of the result
  int elements = 1;       // of a packed input
};

// Elements of six bits stand in a byte each.
int stride(const Type& type) { return type.bits == 6 ? 8 : type.bits; }

std::uint64_t element_mask(const Type& type) { return type.bits == 64 ? ~0ull : (1ull << type.bits) - 1; }

std::uint64_t convert_element(const ConvertPlan& plan, std::uint64_t bits) {
  bits &= element_mask(plan.from);
  const std::uint64_t result = plan.integral ? round_to_integral(plan.to, bits, plan.modifiers)
                                             : convert(plan.to, plan.from, bits, plan.modifiers);
  return result & element_mask(plan.to);
}

// A result narrower than its register is extended by its sign.
std::uint64_t extended(const Type& type, std::uint64_t bits) {
  if (!type.is_signed() || type.bits == 64 || (bits >> (type.bits - 1) & 1) == 0) return bits;
  return bits | ~element_mask(type);
}

template <class Out, class In>
void run_convert(Warp& warp, const Operation& op, Mask mask) {
  const auto& plan = op.plan_as<ConvertPlan>();
  const Lanes<Out> out(warp.registers(), op.slots[0]);
  for_lanes(mask, [&](int lane) {
    std::uint64_t result = 0;
    for (int i = 0; i < plan.inputs; ++i) {
      const auto slot = static_cast<std::size_t>(plan.inputs - i);  // the last input is the lowest element
      const std::uint64_t input = Lanes<In>(warp.registers(), op.slots[slot])[lane];
      for (int e = 0; e < plan.elements; ++e) {
        result |= convert_element(plan, input >> (e * stride(plan.from)))
                  << ((i * plan.elements + e) * stride(plan.to));
      }
    }
    out.set(lane, static_cast<Out>(plan.inputs * plan.elements == 1 ? extended(plan.to, result) : result));
  });
}

Type type_of(const Decoder& decoder, std::string_view word) {
  if (word.ends_with("x2")) word.remove_suffix(2);
  const auto type = find_type(word);
  if (!type) decoder.unsupported("it converts a type that the executor does not know");
  return *type;
}

void emit(Decoder& decoder, const ConvertPlan& plan) {
  using W = std::uint32_t;
  using D = std::uint64_t;
  const bool wide_out = stride(plan.to) * plan.inputs * plan.elements > 32, wide_in = plan.from.bits > 32;
  decoder.emit(wide_out ? (wide_in ? &run_convert<D, D> : &run_convert<D, W>)
                        : (wide_in ? &run_convert<W, D> : &run_convert<W, W>),
               std::make_shared<ConvertPlan>(plan));
}

template <class F>
Semantic with_any_integer(std::string_view type, F f) {
  if (type == "u8") return f.template operator()<std::uint8_t>();
  if (type == "s8") return f.template operator()<std::int8_t>();
  return with_integer(type, f);
}

// Null unless both types are integers.
Semantic integer_conversion(std::string_view to, std::string_view from) {
  return with_any_integer(from, [&]<class From>() {
    return with_any_integer(
        to, []<class To>() { return lanewise<From>([](From value) { return static_cast<To>(value); }); });
  });
}

void decode_cvt(Decoder& decoder) {
  const std::string_view d = decoder.word("d"), a = decoder.word("a");
  const Semantic plain = decoder.has("sat") ? nullptr : integer_conversion(d, a);
  if (plain != nullptr) return decoder.emit(plain);
  const Semantic native = host_conversion(d, a, decoder.word("rnd"), modifiers_of(decoder));
  if (native != nullptr) return decoder.emit(native);
  ConvertPlan plan{
      .to = type_of(decoder, d), .from = type_of(decoder, a), .modifiers = modifiers_of(decoder)};
  plan.integral = plan.to.is_float() && decoder.word("rnd").ends_with('i');
  // What is subnormal in f32 and flushed there is rounded like any other value on its way to f16 (as on an
  // H200: cvt.rp.ftz.f16.f32 of it gives the least f16).
  if (plan.to == f16) plan.modifiers.ftz = false;
  emit(decoder, plan);
}

// One f32 to a narrower type, or two to a pair of it: the first operand becomes the upper half.
void decode_from_f32(Decoder& decoder) {
  const std::string_view d = decoder.word("d");
  const Semantic native = host_conversion(d, "f32", decoder.word("rnd"), modifiers_of(decoder));
  if (native != nullptr) return decoder.emit(native);
  emit(decoder, {.to = type_of(decoder, d),
                 .from = f32,
                 .modifiers = modifiers_of(decoder),
                 .inputs = d.ends_with("x2") ? 2 : 1});
}

void decode_narrow_from_f32(Decoder& decoder) {
  Modifiers modifiers = modifiers_of(decoder);
  modifiers.saturation = Saturation::satfinite;
  emit(decoder,
       {.to = type_of(decoder, decoder.word("d")), .from = f32, .modifiers = modifiers, .inputs = 2});
}

void decode_narrow_from_f16x2(Decoder& decoder) {
  Modifiers modifiers = modifiers_of(decoder);
  modifiers.saturation = Saturation::satfinite;
  emit(decoder,
       {.to = type_of(decoder, decoder.word("d")), .from = f16, .modifiers = modifiers, .elements = 2});
}

void decode_f16x2_from_narrow(Decoder& decoder) {
  emit(decoder, {.to = f16,
                 .from = type_of(decoder, decoder.word("a")),
                 .modifiers = modifiers_of(decoder),
                 .elements = 2});
}

void decode_tf32(Decoder& decoder) {
  emit(decoder, {.to = tf32, .from = f32, .modifiers = modifiers_of(decoder)});
}

void decode_scale(Decoder& decoder) {
  const bool packed = decoder.word("a") == "bf16x2";
  emit(decoder, {.to = ue8m0,
                 .from = packed ? bf16 : f32,
                 .modifiers = modifiers_of(decoder),
                 .inputs = packed ? 1 : 2,
                 .elements = packed ? 2 : 1});
}

void decode_bf16x2_from_scale(Decoder& decoder) {
  emit(decoder, {.to = bf16, .from = ue8m0, .modifiers = {}, .elements = 2});
}

// Two s32 clamped to `bits` bits each, above them what was packed before (operand C of the narrow ones).
struct PackPlan {
  int bits = 16;
  std::int64_t lowest = 0, highest = 0;
  bool chained = false;
};

void run_pack(Warp& warp, const Operation& op, Mask mask) {
  const auto& plan = op.plan_as<PackPlan>();
  const Lanes<std::uint32_t> out(warp.registers(), op.slots[0]);
  const auto clamped = [&](std::size_t slot, int lane) {
    const std::int64_t value = Lanes<std::int32_t>(warp.registers(), op.slots[slot])[lane];
    return static_cast<std::uint32_t>(std::clamp(value, plan.lowest, plan.highest)) & ((1u << plan.bits) - 1);
  };
  for_lanes(mask, [&](int lane) {
    const std::uint32_t above =
        plan.chained ? Lanes<std::uint32_t>(warp.registers(), op.slots[3])[lane] << (2 * plan.bits) : 0;
    out.set(lane, above | clamped(1, lane) << plan.bits | clamped(2, lane));
  });
}

void decode_pack(Decoder& decoder) {
  const std::string_view d = decoder.word("d");
  PackPlan plan;
  plan.bits = d.ends_with("16") ? 16 : d.back() - '0';
  plan.chained = plan.bits < 16;
  plan.lowest = d.front() == 's' ? -(std::int64_t{1} << (plan.bits - 1)) : 0;
  plan.highest = (std::int64_t{1} << (d.front() == 's' ? plan.bits - 1 : plan.bits)) - 1;
  decoder.emit(&run_pack, std::make_shared<PackPlan>(plan));
}

constexpr std::array kForms{
    Semantics{"cvt", decode_cvt},
    Semantics{"cvt.f16.f32", decode_from_f32},
    Semantics{"cvt.tf32", decode_tf32},
    Semantics{"cvt.fp8.f32", decode_narrow_from_f32},
    Semantics{"cvt.fp8.f16x2", decode_narrow_from_f16x2},
    Semantics{"cvt.f16x2.fp8", decode_f16x2_from_narrow},
    Semantics{"cvt.ue8m0", decode_scale},
    Semantics{"cvt.bf16x2.ue8m0", decode_bf16x2_from_scale},
    Semantics{"cvt.pack", decode_pack},
};

}  // namespace

std::span<const Semantics> convert_semantics() { return kForms; }

}  // namespace ptxloom::exec
