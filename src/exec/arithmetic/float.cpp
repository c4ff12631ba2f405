// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>
#include <utility>

#include "base/numeric_arithmetic.hpp"
#include "exec/arithmetic/host_float.hpp"
#include "exec/arithmetic/minmax.hpp"
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
  int elements = 1;                      // 2 of a packed type
  Type narrow;                           // of the f16 or bf16 operands of mixed instructions
  double (*function)(double) = nullptr;  // of approximations
  MinMax choose = {};                    // of min and max
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

inline Bits bits(double value) { return std::bit_cast<Bits>(value); }

void decode_add(Decoder& decoder) {
  const std::string_view op = decoder.word("op"), t = decoder.word("type");
  const FloatPlan plan = plan_of(decoder, t);
  if (const Semantic native = host_arithmetic(op, t, plan.modifiers)) return decoder.emit(native);
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
  if (const Semantic native = host_fma(t, plan.modifiers)) return decoder.emit(native);
  emit_exact<3>(decoder, plan, [](const FloatPlan& p, Bits a, Bits b, Bits c) {
    return base::fma(*p.format, a, b, c, p.modifiers);
  });
}

// The f32 that an f16 or bf16 operand is.
Bits widened(const FloatPlan& plan, Bits value) { return convert(f32, plan.narrow, value & 0xffff); }

FloatPlan mixed_plan_of(Decoder& decoder) {
  FloatPlan plan = plan_of(decoder, "f32");
  plan.narrow = decoder.word("type") == "bf16" ? bf16 : f16;
  return plan;
}

void decode_add_mixed(Decoder& decoder) {
  const FloatPlan plan = mixed_plan_of(decoder);
  if (decoder.word("op") == "add") {
    emit_exact<2>(decoder, plan, [](const FloatPlan& p, Bits a, Bits c) {
      return base::add(*p.format, widened(p, a), c, p.modifiers);
    });
  } else {
    emit_exact<2>(decoder, plan, [](const FloatPlan& p, Bits a, Bits c) {
      return base::sub(*p.format, widened(p, a), c, p.modifiers);
    });
  }
}

void decode_fma_mixed(Decoder& decoder) {
  emit_exact<3>(decoder, mixed_plan_of(decoder), [](const FloatPlan& p, Bits a, Bits b, Bits c) {
    return base::fma(*p.format, widened(p, a), widened(p, b), c, p.modifiers);
  });
}

Bits sign_of(const base::FloatFormat& format) { return format.sign(true); }
Bits flushed(const FloatPlan& plan, Bits value) {
  return plan.modifiers.ftz ? base::flush_subnormal(*plan.format, value) : value;
}

void decode_minmax(Decoder& decoder) {
  FloatPlan plan = plan_of(decoder, decoder.word("type"));
  plan.choose = {.format = plan.format,
                 .is_min = decoder.word("op") == "min",
                 .propagate_nan = decoder.has("nan"),
                 .abs = decoder.has("abs"),
                 .xorsign = decoder.has("xorsign"),
                 .ftz = plan.modifiers.ftz};
  const MinMax& choose = plan.choose;
  if (decoder.operand("C") < 0 && !choose.abs && !choose.xorsign) {
    const Semantic native =
        host_minmax(decoder.word("type"), choose.is_min, choose.propagate_nan, choose.ftz);
    if (native != nullptr) return decoder.emit(native);
  }
  if (decoder.operand("C") >= 0) {
    return emit_exact<3>(decoder, plan, [](const FloatPlan& p, Bits a, Bits b, Bits c) {
      return p.choose(p.choose(a, b), c);
    });
  }
  emit_exact<2>(decoder, plan, [](const FloatPlan& p, Bits a, Bits b) { return p.choose(a, b); });
}

// abs and neg leave the sign of a NaN: f64 makes it quiet, the other formats have one NaN (as an H200 does).
template <class F>
Bits with_sign(const FloatPlan& plan, Bits value, F change) {
  const base::FloatFormat& format = *plan.format;
  if (!base::unpack(format, value).is_nan()) return change(flushed(plan, value), sign_of(format));
  return format.is_f64() ? format.quiet(value) : format.nan;
}

void decode_sign(Decoder& decoder) {
  const FloatPlan plan = plan_of(decoder, decoder.word("type"));
  const Semantic native = host_sign(decoder.word("type"), decoder.word("op") == "abs", plan.modifiers.ftz);
  if (native != nullptr) return decoder.emit(native);
  if (decoder.word("op") == "abs") {
    emit_exact<1>(decoder, plan, [](const FloatPlan& p, Bits a) {
      return with_sign(p, a, [](Bits value, Bits sign) { return value & ~sign; });
    });
  } else {
    emit_exact<1>(decoder, plan, [](const FloatPlan& p, Bits a) {
      return with_sign(p, a, [](Bits value, Bits sign) { return value ^ sign; });
    });
  }
}

// .approx and .full allow an error of an ulp or two; the executor rounds correctly. But .approx multiplies by
// a reciprocal, which above 2^126 is a zero (PTX ISA 9.7.3.8).
Bits divide_approximately(const FloatPlan& plan, Bits a, Bits b) {
  const Bits magnitude = b & ~plan.format->sign(true);
  if (magnitude <= 0x7e80'0000 || magnitude >= plan.format->infinity())
    return base::div(*plan.format, a, b, plan.modifiers);
  return base::mul(*plan.format, a, b & plan.format->sign(true), plan.modifiers);
}

void decode_div(Decoder& decoder) {
  if (decoder.word("rnd") == "approx") {
    return emit_exact<2>(decoder, plan_of(decoder, decoder.word("type")),
                         [](const FloatPlan& p, Bits a, Bits b) { return divide_approximately(p, a, b); });
  }
  emit_exact<2>(decoder, plan_of(decoder, decoder.word("type")),
                [](const FloatPlan& p, Bits a, Bits b) { return base::div(*p.format, a, b, p.modifiers); });
}

// rcp.approx.ftz.f64, rsqrt.approx.ftz.f64: of the upper word of an f64, and no more comes of it (PTX ISA
// 9.7.3.14).
constexpr Bits kUpperWord = 0xffff'ffff'0000'0000;
template <class F>
void emit_upper_word(Decoder& decoder, const FloatPlan& plan, F) {
  emit_exact<1>(decoder, plan, [](const FloatPlan& p, Bits a) {
    const double result = F{}(std::bit_cast<double>(flushed(p, a & kUpperWord)));
    return (result != result ? 0x7fff'ffff'ffff'ffff : flushed(p, bits(result))) & kUpperWord;
  });
}

void decode_reciprocal(Decoder& decoder) {
  const FloatPlan plan = plan_of(decoder, decoder.word("type"));
  if (decoder.word("rnd") == "approx" && decoder.word("type") == "f64")
    return emit_upper_word(decoder, plan, [](double a) { return 1 / a; });
  if (decoder.word("op") == "rcp") {
    emit_exact<1>(decoder, plan, [](const FloatPlan& p, Bits a) {
      return base::div(*p.format, p.format->one(), a, p.modifiers);
    });
  } else {
    emit_exact<1>(decoder, plan,
                  [](const FloatPlan& p, Bits a) { return base::sqrt(*p.format, a, p.modifiers); });
  }
}

void decode_copysign(Decoder& decoder) {
  emit_exact<2>(decoder, plan_of(decoder, decoder.word("type")), [](const FloatPlan& p, Bits a, Bits b) {
    return (a & sign_of(*p.format)) | (b & ~sign_of(*p.format));
  });
}

// sin, cos, ex2 and their kind. The manual bounds their error and says no more: here they are the nearest
// values, as far as the host's library knows them.
struct Approximation {
  std::string_view op;
  double (*function)(double);
};
constexpr std::array kApproximations{
    Approximation{"sin", [](double a) { return std::sin(a); }},
    Approximation{"cos", [](double a) { return std::cos(a); }},
    Approximation{"lg2", [](double a) { return std::log2(a); }},
    Approximation{"ex2", [](double a) { return std::exp2(a); }},
    Approximation{"tanh", [](double a) { return std::tanh(a); }},
    Approximation{"rsqrt", [](double a) { return 1 / std::sqrt(a); }},
};

void decode_approximation(Decoder& decoder) {
  FloatPlan plan = plan_of(decoder, decoder.word("type"));
  const auto found = std::ranges::find(kApproximations, decoder.word("op"), &Approximation::op);
  if (found == kApproximations.end()) return decoder.emit(nullptr);
  if (decoder.word("type") == "f64" && plan.modifiers.ftz)
    return emit_upper_word(decoder, plan, [](double a) { return 1 / std::sqrt(a); });
  plan.function = found->function;
  emit_exact<1>(decoder, plan, [](const FloatPlan& p, Bits a) {
    if (p.format->is_f64() && base::unpack(*p.format, a).is_nan()) return p.format->quiet(a);
    return flushed(p, encode(p.type, p.function(decode(p.type, flushed(p, a)))));
  });
}

constexpr std::array kForms{
    Semantics{"add.float", decode_add},     Semantics{"add.mixed", decode_add_mixed},
    Semantics{"fma", decode_fma},           Semantics{"fma.mixed", decode_fma_mixed},
    Semantics{"min.float", decode_minmax},  Semantics{"abs.float", decode_sign},
    Semantics{"div.float", decode_div},     Semantics{"div.full", decode_div},
    Semantics{"rcp", decode_reciprocal},    Semantics{"approx", decode_approximation},
    Semantics{"copysign", decode_copysign},
};

}  // namespace

std::span<const Semantics> float_semantics() { return kForms; }

}  // namespace ptxloom::exec
