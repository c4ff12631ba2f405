// SPDX-License-Identifier: Apache-2.0
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <functional>

#include "base/numeric_arithmetic.hpp"
#include "exec/arithmetic/boundaries.hpp"
#include "exec/arithmetic/minmax.hpp"
#include "exec/arithmetic/rounding.hpp"
#include "exec/harness.hpp"

// Every variant of floating arithmetic in the specs against the exact arithmetic of src/base, number by
// number: every bit, NaN included, on values of all magnitudes, and by all lanes of a warp or by some.
namespace ptxloom::exec::test::exact_float_test {
namespace {

using Bits = std::uint64_t;
using base::FloatFormat;

struct Words {
  explicit Words(Variant v) : variant(v) {}
  Variant variant;

  std::string_view of(std::string_view slot) const { return variant.slot(slot).value_or(""); }
  bool has(std::string_view slot) const { return !of(slot).empty() && of(slot) != "-"; }
  Modifiers modifiers() const {
    return {.rounding = rounding_of(of("rnd")),
            .saturation = has("sat") ? Saturation::sat : Saturation::none,
            .ftz = has("ftz"),
            .relu = has("relu")};
  }
};

/// What an instruction does to one element of each operand.
using Reference = std::function<Bits(Bits, Bits, Bits)>;

Reference reference_of_add(const Words& w, const FloatFormat& f) {
  const Modifiers m = w.modifiers();
  if (w.of("op") == "add") return [=, &f](Bits a, Bits b, Bits) { return base::add(f, a, b, m); };
  if (w.of("op") == "sub") return [=, &f](Bits a, Bits b, Bits) { return base::sub(f, a, b, m); };
  return [=, &f](Bits a, Bits b, Bits) { return base::mul(f, a, b, m); };
}

Reference reference_of_fma(const Words& w, const FloatFormat& f) {
  const Modifiers m = w.modifiers();
  const bool oob = w.has("oob");
  return [=, &f](Bits a, Bits b, Bits c) -> Bits {
    const auto outside = [&](Bits factor) { return (factor & 0x7fff) == 0x7ff7; };
    if (oob && (outside(a) || outside(b))) return 0;
    return base::fma(f, a, b, c, m);
  };
}

Bits widened(std::string_view type, Bits value) {
  return narrow::encode(f32, narrow::decode(type == "bf16" ? bf16 : f16, value & 0xffff));
}

// .approx multiplies by a reciprocal, which above 2^126 is a zero.
Reference reference_of_div(const Words& w, const FloatFormat& f) {
  const Modifiers m = w.modifiers();
  if (w.of("rnd") != "approx") return [=, &f](Bits a, Bits b, Bits) { return base::div(f, a, b, m); };
  return [=, &f](Bits a, Bits b, Bits) {
    const Bits magnitude = b & 0x7fff'ffff;
    if (magnitude <= 0x7e80'0000 || magnitude >= 0x7f80'0000) return base::div(f, a, b, m);
    return base::mul(f, a, b & 0x8000'0000, m);
  };
}

Reference reference_of_root(const Words& w, const FloatFormat& f) {
  const Modifiers m = w.modifiers();
  if (w.of("op") == "sqrt") return [=, &f](Bits a, Bits, Bits) { return base::sqrt(f, a, m); };
  if (f.is_f64() && m.ftz) return nullptr;  // float_forms_test.cpp
  return [=, &f](Bits a, Bits, Bits) { return base::div(f, f.one(), a, m); };
}

Reference reference_of_minmax(const Words& w, const FloatFormat& f) {
  const MinMax choose{.format = &f,
                      .is_min = w.of("op") == "min",
                      .propagate_nan = w.has("nan"),
                      .abs = w.has("abs"),
                      .xorsign = w.has("xorsign"),
                      .ftz = w.has("ftz")};
  if (w.variant.operand_index("C") < 0) return [=](Bits a, Bits b, Bits) { return choose(a, b); };
  return [=](Bits a, Bits b, Bits c) { return choose(choose(a, b), c); };
}

Reference reference_of_sign(const Words& w, const FloatFormat& f) {
  const bool is_abs = w.of("op") == "abs", ftz = w.has("ftz");
  return [=, &f](Bits a, Bits, Bits) {
    if (base::unpack(f, a).is_nan()) return f.is_f64() ? f.quiet(a) : f.nan;
    if (ftz) a = base::flush_subnormal(f, a);
    return is_abs ? a & ~f.sign(true) : a ^ f.sign(true);
  };
}

Reference reference_of_copysign(const Words&, const FloatFormat& f) {
  return [&f](Bits a, Bits b, Bits) { return (a & f.sign(true)) | (b & ~f.sign(true)); };
}

// The values nearest to those of the host's library.
Reference reference_of_approximation(const Words& w, const FloatFormat& f, const Type& type) {
  const std::string_view op = w.of("op");
  const bool ftz = w.has("ftz");
  if (f.is_f64() && ftz) return nullptr;  // float_forms_test.cpp
  double (*function)(double) = [](double a) { return 1 / std::sqrt(a); };
  if (op == "sin") function = [](double a) { return std::sin(a); };
  if (op == "cos") function = [](double a) { return std::cos(a); };
  if (op == "lg2") function = [](double a) { return std::log2(a); };
  if (op == "ex2") function = [](double a) { return std::exp2(a); };
  if (op == "tanh") function = [](double a) { return std::tanh(a); };
  return [=, &f](Bits a, Bits, Bits) {
    if (f.is_f64() && base::unpack(f, a).is_nan()) return f.quiet(a);
    const auto flushed = [&](Bits bits) { return ftz ? base::flush_subnormal(f, bits) : bits; };
    return flushed(narrow::encode(type, function(narrow::decode(type, flushed(a)))));
  };
}

Reference reference_of_mixed(const Words& w) {
  const Modifiers m = w.modifiers();
  const std::string type(w.of("type"));
  if (w.variant.form() == "fma.mixed")
    return [=](Bits a, Bits b, Bits c) {
      return base::fma(base::kF32, widened(type, a), widened(type, b), c, m);
    };
  const bool is_add = w.of("op") == "add";
  return [=](Bits a, Bits c, Bits) {
    return is_add ? base::add(base::kF32, widened(type, a), c, m)
                  : base::sub(base::kF32, widened(type, a), c, m);
  };
}

Reference reference_of(const Words& w, const FloatFormat& f, const Type& type) {
  const std::string_view form = w.variant.form();
  if (form.ends_with(".mixed")) return reference_of_mixed(w);
  if (form == "add.float") return reference_of_add(w, f);
  if (form == "fma") return reference_of_fma(w, f);
  if (form.starts_with("div")) return reference_of_div(w, f);
  if (form == "rcp") return reference_of_root(w, f);
  if (form == "min.float") return reference_of_minmax(w, f);
  if (form == "abs.float") return reference_of_sign(w, f);
  return form == "copysign" ? reference_of_copysign(w, f) : reference_of_approximation(w, f, type);
}

/// Values of the format: all magnitudes, those around 1, few bits, both ends, and special ones.
std::vector<Bits> values(Random& random, const FloatFormat& f) {
  std::vector<Bits> result(kSamples);
  const Bits mantissas = (Bits{1} << f.mantissa_bits) - 1, one = f.one(), least = mantissas + 1;
  for (Bits& value : result) {
    const Bits bits = random.bits(), mantissa = bits & mantissas;
    const auto near = [&](Bits center) { return center + random.below(9) - 4; };
    switch (random.below(12)) {
      case 0:
        value = mantissa >> random.below(static_cast<std::uint32_t>(f.mantissa_bits));
        break;  // subnormal
      case 1:
        value = near(random.below(2) != 0 ? least : f.infinity());
        break;
      case 2:
        value = near(one);
        break;
      case 3:
        value = random.below(3) == 0 ? f.infinity() + random.below(3) : random.below(6);
        break;
      case 4:  // few bits
        value = (one + (Bits{random.below(12)} << f.mantissa_bits)) |
                (mantissa & ~(mantissas >> random.below(5)));
        break;
      case 5:
      case 6:
        value = (one - least * 12) + least * random.below(24) + mantissa;
        break;
      case 7:  // half the exponent of the least
        value = (one / 2 & ~mantissas) + least * random.below(3) + mantissa;
        break;
      case 8:  // out of bounds; a NaN
        value = f.mantissa_bits < 11 ? 0x7ff7 : f.infinity() + mantissa;
        break;
      default:
        value = bits & (f.infinity() | mantissas);
    }
    value = (value & (f.infinity() | mantissas)) | (random.bits() & f.sign(true));
  }
  return result;
}

std::string registers(std::string_view name, int bits) {
  return ".reg .b" + std::to_string(bits) + " " + std::string(name) + "; ";
}

struct Subject {
  Words words;
  const FloatFormat* format = nullptr;  // of the result's elements
  int elements = 1, bits = 32;          // of the result
  Reference reference;
  std::vector<int> widths;  // of the operands

  const FloatFormat& format_of(std::size_t operand) const {
    const bool is_half = widths[operand] == 16 && format == &base::kF32;  // of a mixed instruction
    if (!is_half) return *format;
    return words.of("type") == "bf16" ? base::kBf16 : base::kF16;
  }
};

Subject subject_of(const Variant& variant) {
  Subject subject{.words = Words(variant)};
  std::string_view name = variant.form().ends_with(".mixed") ? "f32" : subject.words.of("type");
  if (name.ends_with("x2")) subject.elements = 2, name.remove_suffix(2);
  const Type type = *find_type(name);
  subject.format = base::find_format(type);
  subject.bits = type.bits * subject.elements;
  subject.reference = reference_of(subject.words, *subject.format, type);
  for (std::size_t i = 1; i < variant.operands().size(); ++i)
    subject.widths.push_back(variant.operands()[i].type.bits);
  return subject;
}

/// The statements that do it, for lanes where %p holds.
std::string statements_of(const Subject& s) {
  const std::string names = "abc";
  std::string text = ".reg .pred %p; and.b32 %n, %t, 7; setp.ne.u32 %p, %n, %t; ";  // not in the first eight
  text += registers("%y", s.bits) + "mov.b" + std::to_string(s.bits) + " %y, 0; ";
  std::string operands = " %y";
  for (std::size_t i = 0; i < s.widths.size(); ++i) {
    const std::string reg = "%x" + std::to_string(i), width = std::to_string(s.widths[i]);
    text += registers(reg, s.widths[i]);
    text += s.widths[i] == 64 ? "mov.b64 " : "cvt.u" + width + ".u64 ";
    text += reg + ", %" + names[i] + "; ";
    operands += ", " + reg;
  }
  text += "@%p " + std::string(s.words.variant.opcode()) + operands + "; ";
  return text + (s.bits == 64 ? "mov.b64 %d, %y;" : "cvt.u64.u" + std::to_string(s.bits) + " %d, %y;");
}

/// An element of each operand for each sample: what one of 16 bits can be, each boundary with each other,
/// some triples of them; or random values.
using Elements = std::vector<std::vector<Bits>>;
Elements elements(const Subject& s, Random& random, bool at_boundaries) {
  Elements result;
  for (std::size_t k = 0; k < s.widths.size(); ++k) {
    const FloatFormat& f = s.format_of(k);
    if (!at_boundaries) {
      result.push_back(values(random, f));
      continue;
    }
    const std::vector<Bits> edges = boundaries(f);
    const std::size_t n = edges.size(), arity = s.widths.size();
    std::vector<Bits>& of = result.emplace_back(arity == 2 ? n * n : 1 << 16);
    for (std::size_t i = 0; i < of.size(); ++i) {
      if (arity == 1 && f.sign_bit() == 15) {
        of[i] = i;
      } else {
        of[i] = edges[arity != 2 ? random.below(static_cast<std::uint32_t>(n)) : k == 0 ? i / n : i % n];
      }
    }
  }
  return result;
}

/// Operands whose elements, low ones first, these are; the high ones in another order.
Elements packed(const Subject& s, const Elements& low, const Elements& high) {
  Elements result = low;
  if (s.elements == 1) return result;
  for (std::size_t k = 0; k < low.size(); ++k) {
    for (std::size_t i = 0; i < low[k].size(); ++i)
      result[k][i] |= high[k][(i * 5 + 3) % high[k].size()] << (s.bits / 2);
  }
  return result;
}

void check(const Subject& s, Random& random, bool at_boundaries) {
  Elements in = packed(s, elements(s, random, at_boundaries), elements(s, random, at_boundaries));
  in.resize(3, in[0]);
  const auto out = each_thread<Bits>(statements_of(s), in[0], in[1], in[2]);
  const int width = s.bits / s.elements;
  const Bits mask = width == 64 ? ~Bits{0} : (Bits{1} << width) - 1;
  for (std::size_t i = 0; i < out.size(); ++i) {
    Bits expected = 0;
    for (int e = 0; e < s.elements && i >= 8; ++e) {
      const auto element = [&](std::size_t k) { return in[k][i] >> (e * width) & mask; };
      expected |= s.reference(element(0), element(1), element(2)) << (e * width);
    }
    if (out[i] == expected) continue;
    CAPTURE(s.words.variant.opcode(), i, in[0][i], in[1][i], in[2][i], out[i], expected);
    FAIL_CHECK("wrong result");
    return;
  }
}

}  // namespace

TEST_CASE("every variant of floating arithmetic gives the bits of the exact one") {
  Random random;
  INFO("seed " << random.seed);
  const auto [form, count] = GENERATE(table<const char*, std::size_t>({{"add.float", 165},
                                                                       {"add.mixed", 1},
                                                                       {"fma", 72},
                                                                       {"fma.mixed", 1},
                                                                       {"div.float", 14},
                                                                       {"div.full", 1},
                                                                       {"rcp", 28},
                                                                       {"min.float", 74},
                                                                       {"abs.float", 1},
                                                                       {"copysign", 1},
                                                                       {"approx", 20}}));
  std::size_t variants = 0;
  for (const Variant& variant : specs()->variants(form)) {
    if (variant.undocumented() || variant.slot("turns")) continue;
    const Subject subject = subject_of(variant);
    if (subject.reference == nullptr) continue;
    ++variants;
    check(subject, random, true);
    for (int round = 0; round < 4; ++round) check(subject, random, false);
  }
  CAPTURE(form);
  CHECK(variants >= count);
}

}  // namespace ptxloom::exec::test::exact_float_test
