// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "exec/arithmetic/clamped.hpp"
#include "exec/arithmetic/host_float.hpp"
#include "exec/arithmetic/rounding.hpp"
#include "exec/machine/bit_flow.hpp"
#include "exec/machine/decoder.hpp"

// Floating arithmetic (PTX ISA 9.7.3 to 9.7.5), rounded once, by the host (host_float.hpp).
namespace ptxloom::exec {
namespace {

void emit_arithmetic(Decoder& decoder, std::string_view op) {
  if (!emit_host_arithmetic(decoder, op, decoder.word("type"), modifiers_of(decoder))) decoder.emit(nullptr);
}

void decode_operation(Decoder& decoder) { emit_arithmetic(decoder, decoder.word("op")); }

// A factor that is out of bounds, of either sign, makes the result zero.
void decode_fma_out_of_bounds(Decoder& decoder) {
  const std::string_view type = decoder.word("type");
  const Modifiers modifiers = modifiers_of(decoder);
  if (modifiers.saturation != Saturation::none || modifiers.ftz || modifiers.rounding != Rounding::rn)
    return decoder.emit(nullptr);
  emit_clamped(decoder, host_fma_out_of_bounds(type), clamp_of(type, modifiers));
}

void decode_fma(Decoder& decoder) {
  decoder.has("oob") ? decode_fma_out_of_bounds(decoder) : emit_arithmetic(decoder, "fma");
}

// Narrow operands are widened to the equal f32.
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

// abs and neg do not change the sign of a NaN: f64 makes it quiet, the other formats have one NaN (as on an
// H200).
void decode_sign(Decoder& decoder) {
  if (!emit_host_sign(decoder, decoder.word("type"), decoder.word("op") == "abs", decoder.has("ftz")))
    decoder.emit(nullptr);
}

// .approx and .full allow an error of an ulp or two; the executor rounds correctly. But .approx multiplies by
// a reciprocal, which is zero for divisors above 2^126 (PTX ISA 9.7.3.8).
void decode_div(Decoder& decoder) {
  if (decoder.word("rnd") == "approx") return decoder.emit(host_approximate_division(decoder.has("ftz")));
  emit_arithmetic(decoder, "div");
}

void decode_reciprocal(Decoder& decoder) {
  if (decoder.word("rnd") == "approx" && decoder.word("type") == "f64")
    return decoder.emit(host_upper_word("rcp"));
  decode_operation(decoder);
}

void decode_copysign(Decoder& decoder) { decoder.emit(host_copysign(decoder.word("type"))); }

void decode_approximation(Decoder& decoder) {
  const std::string_view op = decoder.word("op"), type = decoder.word("type");
  const bool ftz = decoder.has("ftz");
  if (decoder.has("turns")) decoder.unsupported("the executor does not support angles in turns");
  decoder.emit(type == "f64" && ftz ? host_upper_word(op) : host_approximation(op, type, ftz));
}

FormFlow scaling_flow(const Variant& variant) {
  FormFlow flow = packed_flow(variant);
  flow.scales = variant.slot("op") == "mul";
  return flow;
}

constexpr std::array kForms{
    Semantics{"add.float", decode_operation, {.of_variant = scaling_flow}},
    Semantics{"add.mixed", decode_mixed, {FlowRule::smear}},
    Semantics{"fma", decode_fma, {.of_variant = packed_flow}},
    Semantics{"fma.mixed", decode_mixed, {FlowRule::smear}},
    Semantics{"min.float", decode_minmax, {.of_variant = packed_flow}},
    Semantics{"abs.float", decode_sign, {.of_variant = packed_flow}},
    Semantics{"div.float", decode_div, {.rule = FlowRule::smear, .scales = true}},
    Semantics{"div.full", decode_div, {.rule = FlowRule::smear, .scales = true}},
    Semantics{"rcp", decode_reciprocal, {.rule = FlowRule::smear, .scales = true}},
    Semantics{"approx", decode_approximation, {.of_variant = packed_flow}},
    Semantics{"copysign", decode_copysign, {FlowRule::smear}},
};

}  // namespace

std::span<const Semantics> float_semantics() { return kForms; }

}  // namespace ptxloom::exec
