// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>
#include <utility>

#include "base/numeric_arithmetic.hpp"
#include "exec/arithmetic/clamped.hpp"
#include "exec/arithmetic/host_float.hpp"
#include "exec/arithmetic/rounding.hpp"
#include "exec/machine/decoder.hpp"
#include "exec/machine/warp.hpp"
#include "exec/memory/out_of_bounds.hpp"

// Floating arithmetic (PTX ISA 9.7.3 to 9.7.5), rounded once: by the exact arithmetic of src/base, or,
// where host_float.hpp has it, by the host.
namespace ptxloom::exec {
namespace {

using Bits = std::uint64_t;

struct FloatPlan {
  Type type;  // of an element
  const base::FloatFormat* format = nullptr;
  Modifiers modifiers;
  int element_bits = 32;
  int elements = 1;  // 2 of a packed type
};

FloatPlan plan_of(Decoder& decoder, std::string_view type) {
  const bool packed = type.ends_with("x2");
  if (packed) type.remove_suffix(2);
  const auto element = find_type(type);
  const base::FloatFormat* format = element ? base::find_format(*element) : nullptr;
  if (format == nullptr) decoder.unsupported("it is no arithmetic of a floating type");
  return {.type = *element,
          .format = format,
          .modifiers = modifiers_of(decoder),
          .element_bits = element->bits,
          .elements = packed ? 2 : 1};
}

// f(plan, bits...) for each lane and each element of a packed value; operands are the destination, then the
// inputs.
template <class Raw, std::size_t arity, class F>
void run_exact(Warp& warp, const Operation& op, Mask mask) {
  const auto& plan = op.plan_as<FloatPlan>();
  const Bits low = plan.element_bits == 64 ? ~Bits{0} : (Bits{1} << plan.element_bits) - 1;
  const Lanes<Raw> out(warp.registers(), op.slots[0]);
  for_lanes(mask, [&](int lane) {
    Bits result = 0;
    for (int element = 0; element < plan.elements; ++element) {
      const int shift = element * plan.element_bits;
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        result |= F{}(plan, (Lanes<Raw>(warp.registers(), op.slots[I + 1])[lane] >> shift & low)...) << shift;
      }(std::make_index_sequence<arity>());
    }
    out.set(lane, static_cast<Raw>(result));
  });
}

template <std::size_t arity, class F>
void emit_exact(Decoder& decoder, const FloatPlan& plan, F) {
  const bool wide = plan.element_bits * plan.elements > 32;
  decoder.emit(wide ? &run_exact<std::uint64_t, arity, F> : &run_exact<std::uint32_t, arity, F>,
               std::make_shared<FloatPlan>(plan));
}

void decode_add(Decoder& decoder) {
  const std::string_view op = decoder.word("op"), t = decoder.word("type");
  const FloatPlan plan = plan_of(decoder, t);
  if (emit_host_arithmetic(decoder, op, t, plan.modifiers)) return;
  if (op == "add") {
    emit_exact<2>(decoder, plan,
                  [](const FloatPlan& p, Bits a, Bits b) { return base::add(*p.format, a, b, p.modifiers); });
  } else if (op == "sub") {
    emit_exact<2>(decoder, plan,
                  [](const FloatPlan& p, Bits a, Bits b) { return base::sub(*p.format, a, b, p.modifiers); });
  } else {
    emit_exact<2>(decoder, plan,
                  [](const FloatPlan& p, Bits a, Bits b) { return base::mul(*p.format, a, b, p.modifiers); });
  }
}

// A factor that is out of bounds, whatever its sign, makes the result zero.
void decode_fma_out_of_bounds(Decoder& decoder, const FloatPlan& plan) {
  if (plan.modifiers.saturation == Saturation::none && !plan.modifiers.ftz &&
      plan.modifiers.rounding == Rounding::rn) {
    const std::string_view type = decoder.word("type");
    return emit_clamped(decoder, host_fma_out_of_bounds(type), clamp_of(type, plan.modifiers));
  }
  emit_exact<3>(decoder, plan, [](const FloatPlan& p, Bits a, Bits b, Bits c) {
    const auto is_outside = [&](Bits factor) { return (factor & ~p.format->sign(true)) == kOutOfBoundsNan; };
    if (is_outside(a) || is_outside(b)) return Bits{0};
    return base::fma(*p.format, a, b, c, p.modifiers);
  });
}

void decode_fma(Decoder& decoder) {
  const std::string_view t = decoder.word("type");
  const FloatPlan plan = plan_of(decoder, t);
  if (decoder.has("oob")) return decode_fma_out_of_bounds(decoder, plan);
  if (emit_host_arithmetic(decoder, "fma", t, plan.modifiers)) return;
  emit_exact<3>(decoder, plan, [](const FloatPlan& p, Bits a, Bits b, Bits c) {
    return base::fma(*p.format, a, b, c, p.modifiers);
  });
}

// Narrow operands, as the f32 that they are.
void decode_mixed(Decoder& decoder) {
  const Modifiers modifiers = modifiers_of(decoder);
  const std::string_view op = decoder.has("op") ? decoder.word("op") : "fma";
  emit_clamped(decoder, host_mixed(op, decoder.word("type"), modifiers.rounding), clamp_of("f32", modifiers));
}

void decode_minmax(Decoder& decoder) {
  const bool known = emit_host_minmax(decoder, decoder.word("type"),
                                      {.is_min = decoder.word("op") == "min",
                                       .propagate_nan = decoder.has("nan"),
                                       .abs = decoder.has("abs"),
                                       .xorsign = decoder.has("xorsign"),
                                       .ftz = decoder.has("ftz"),
                                       .three = decoder.operand("C") >= 0});
  if (!known) decoder.emit(nullptr);
}

// abs and neg leave the sign of a NaN: f64 makes it quiet, the other formats have one NaN (as an H200 does).
void decode_sign(Decoder& decoder) {
  if (!emit_host_sign(decoder, decoder.word("type"), decoder.word("op") == "abs", decoder.has("ftz")))
    decoder.emit(nullptr);
}

// .approx and .full allow an error of an ulp or two; the executor rounds correctly. But .approx multiplies by
// a reciprocal, which above 2^126 is a zero (PTX ISA 9.7.3.8).
void decode_div(Decoder& decoder) {
  const std::string_view type = decoder.word("type");
  const FloatPlan plan = plan_of(decoder, type);
  if (decoder.word("rnd") == "approx") return decoder.emit(host_approximate_division(plan.modifiers.ftz));
  if (emit_host_arithmetic(decoder, "div", type, plan.modifiers)) return;
  emit_exact<2>(decoder, plan,
                [](const FloatPlan& p, Bits a, Bits b) { return base::div(*p.format, a, b, p.modifiers); });
}

void decode_reciprocal(Decoder& decoder) {
  const FloatPlan plan = plan_of(decoder, decoder.word("type"));
  if (decoder.word("rnd") == "approx" && decoder.word("type") == "f64")
    return decoder.emit(host_upper_word("rcp"));
  if (emit_host_arithmetic(decoder, decoder.word("op"), decoder.word("type"), plan.modifiers)) return;
  if (decoder.word("op") == "rcp") {
    emit_exact<1>(decoder, plan, [](const FloatPlan& p, Bits a) {
      return base::div(*p.format, p.format->one(), a, p.modifiers);
    });
  } else {
    emit_exact<1>(decoder, plan,
                  [](const FloatPlan& p, Bits a) { return base::sqrt(*p.format, a, p.modifiers); });
  }
}

void decode_copysign(Decoder& decoder) { decoder.emit(host_copysign(decoder.word("type"))); }

void decode_approximation(Decoder& decoder) {
  const std::string_view op = decoder.word("op"), type = decoder.word("type");
  const bool ftz = decoder.has("ftz");
  decoder.emit(type == "f64" && ftz ? host_upper_word(op) : host_approximation(op, type, ftz));
}

constexpr std::array kForms{
    Semantics{"add.float", decode_add},     Semantics{"add.mixed", decode_mixed},
    Semantics{"fma", decode_fma},           Semantics{"fma.mixed", decode_mixed},
    Semantics{"min.float", decode_minmax},  Semantics{"abs.float", decode_sign},
    Semantics{"div.float", decode_div},     Semantics{"div.full", decode_div},
    Semantics{"rcp", decode_reciprocal},    Semantics{"approx", decode_approximation},
    Semantics{"copysign", decode_copysign},
};

}  // namespace

std::span<const Semantics> float_semantics() { return kForms; }

}  // namespace ptxloom::exec
