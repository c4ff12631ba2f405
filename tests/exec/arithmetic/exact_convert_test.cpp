// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "exec/arithmetic/rounding.hpp"
#include "exec/harness.hpp"
#include "ptxloom/numeric.hpp"

// Every variant of cvt in the specs against the exact conversions of numeric.hpp, element by element: every
// bit. All patterns of 16 bits and fewer; of others all magnitudes, and what lies next to ties.
namespace ptxloom::exec::test::exact_convert_test {
namespace {

using Bits = std::uint64_t;

int stride(const Type& type) { return type.bits == 6 ? 8 : type == tf32 ? 32 : type.bits; }

Bits mask_of(int bits) { return bits >= 64 ? ~Bits{0} : (Bits{1} << bits) - 1; }

struct Conversion {
  Type to, from;
  Modifiers modifiers;
  bool integral = false;
  int inputs = 1, elements = 1, to_stride = 0, from_stride = 0;
  int width = 32, input_width = 32;  // of registers
  std::string opcode;

  Bits element(Bits bits) const {
    bits &= mask_of(from.bits);
    return (integral ? round_to_integral(to, bits, modifiers) : convert(to, from, bits, modifiers)) &
           mask_of(stride(to));
  }
  Bits operator()(Bits a, Bits b) const {
    if (inputs == 2) return element(a) << to_stride | element(b);
    Bits result = 0;
    for (int e = 0; e < elements; ++e) result |= element(a >> (e * from_stride)) << (e * to_stride);
    return result;
  }
};

Type type_of(std::string_view word) {
  if (word.ends_with("x2")) word.remove_suffix(2);
  return *find_type(word);
}

Conversion conversion_of(const Variant& variant) {
  const auto word = [&](std::string_view slot) { return variant.slot(slot).value_or(""); };
  const std::string_view form = variant.form(), sat = word("sat");
  const std::string_view d = form == "cvt.f16x2.fp8"     ? "f16x2"
                             : form == "cvt.tf32"        ? "tf32"
                             : form == "cvt.ue8m0"       ? "ue8m0x2"
                             : form == "cvt.ue5m3"       ? "ue5m3x2"
                             : form.starts_with("cvt.b") ? "bf16x2"
                                                         : word("d");
  const std::string_view a = form.ends_with("f32") && form != "cvt" ? "f32"
                             : form == "cvt.bf16x2.ue8m0"           ? "ue8m0x2"
                                                                    : word("a");
  Conversion c{.to = type_of(d), .from = type_of(a), .opcode = std::string(variant.opcode())};
  c.modifiers = {.rounding = rounding_of(word("rnd")),
                 .saturation = sat.empty()    ? Saturation::none
                               : sat == "sat" ? Saturation::sat
                                              : Saturation::satfinite,
                 .ftz = !word("ftz").empty(),
                 .relu = !word("relu").empty(),
                 .pzo = !word("pzo").empty()};
  if (form.starts_with("cvt.fp8")) c.modifiers.saturation = Saturation::satfinite;
  if (form == "cvt.tf32") c.from = f32;
  if (c.to == f16) c.modifiers.ftz = false;
  c.integral = form == "cvt" && c.to.is_float() && word("rnd").ends_with('i');
  c.inputs = variant.operand_index("B") >= 0 ? 2 : 1;
  c.elements = a.ends_with("x2") ? 2 : 1;
  c.to_stride = stride(c.to);
  c.from_stride = stride(c.from);
  const auto width = [](const Type& type, int stride, int count) {
    return type == e2m1 ? 8 : std::max<int>(16, stride * count);
  };
  c.width = width(c.to, c.to_stride, c.inputs * c.elements);
  c.input_width = width(c.from, c.from_stride, c.elements);
  return c;
}

std::vector<Bits> patterns(const Conversion& c, Random& random) {
  const int width = c.from_stride * c.elements;
  if (width <= 16) {
    std::vector<Bits> all(std::size_t{1} << width);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    return all;
  }
  if (c.from == f32 && c.to.is_float() && c.to.bits < 32) {  // each sign, exponent and start of a mantissa
    std::vector<Bits> values(1 << 16);
    for (Bits i = 0; i < values.size(); ++i) {
      const Bits half = Bits{1} << random.below(16),
                 tails[] = {0, 1, half - 1, half, half + 1, random.bits()};
      values[i] = i << 16 | (tails[random.below(6)] & 0xffff);
    }
    for (Bits i = 0; i < 512; ++i) values.push_back(i << 23);  // zeros, powers of two, infinities
    return values;
  }
  std::vector<Bits> values(8192);
  for (Bits& value : values) {
    value = random.bits() & mask_of(width);
    const auto place = random.below(static_cast<std::uint32_t>(width));
    switch (random.below(7)) {
      case 5:  // three bits
        value = Bits{1} << place | Bits{1} << random.bits() % 64 | Bits{1} << random.bits() % 64;
        break;
      case 0:
        value >>= place;
        break;
      case 1:
        value = (Bits{1} << place) + random.below(5) - 2;
        break;
      case 2:  // below a place: nothing, a half, and what lies beside it
        value = (value >> place << place) + (Bits{random.below(4)} << place >> 1) + random.below(3) - 1;
        break;
      case 3:  // an exponent near the middle
        if (c.from == f32) value = (value & 0x807f'ffff) | Bits{127 - 30 + random.below(70)} << 23;
        if (c.from == f64)
          value = (value & 0x800f'ffff'ffff'ffff) | Bits{1023 - 160 + random.below(300)} << 52;
        break;
      case 4:  // few bits, and a half of some format's last one
        if (c.from == f32) value &= ~mask_of(static_cast<int>(random.below(23)));
        if (c.from == f64) value &= ~mask_of(static_cast<int>(random.below(52)));
        break;
      default:
        break;
    }
    value &= mask_of(width);
  }
  return values;
}

std::string statements_of(const Conversion& c) {
  const std::string in = std::to_string(c.input_width), out = std::to_string(c.width);
  std::string text = ".reg .pred %p; and.b32 %n, %t, 7; setp.ne.u32 %p, %n, %t; .reg .b" + in +
                     " %x, %z; .reg .b" + out + " %y; .reg .b64 %none; mov.b64 %none, 0; ";
  text += c.width == 64 ? "mov.b64 %y, %none; " : "cvt.u" + out + ".u64 %y, %none; ";
  for (const char* move : {"%x, %a; ", "%z, %b; "})
    text += (c.input_width == 64 ? "mov.b64 " : "cvt.u" + in + ".u64 ") + move;
  text += "@%p " + c.opcode + " %y, %x" + (c.inputs == 2 ? ", %z; " : "; ");
  return text + (c.width == 64 ? "mov.b64 %d, %y;" : "cvt.u64.u" + out + " %d, %y;");
}

void check(const Conversion& c, Random& random) {
  const std::vector<Bits> a = patterns(c, random);
  std::vector<Bits> b = a;
  std::shuffle(b.begin(), b.end(), random.engine);
  const auto out = each_thread<Bits>(statements_of(c), a, b);
  const Bits mask = mask_of(c.to_stride * c.inputs * c.elements);
  for (std::size_t i = 8; i < out.size(); ++i) {
    const Bits expected = c(a[i], b[i]);
    if ((out[i] & mask) == expected) continue;
    CAPTURE(c.opcode, i, a[i], b[i], out[i], expected);
    FAIL_CHECK("wrong result");
    return;
  }
  for (std::size_t i = 0; i < 8; ++i) CHECK(out[i] == 0);
}

}  // namespace

TEST_CASE("every variant of cvt gives the bits of the exact conversion") {
  Random random;
  INFO("seed " << random.seed);
  std::size_t variants = 0;
  for (const char* form : {"cvt", "cvt.f16.f32", "cvt.tf32", "cvt.fp8.f32", "cvt.fp8.f16x2", "cvt.f16x2.fp8",
                           "cvt.ue8m0", "cvt.bf16x2.ue8m0", "cvt.bf16x2.fp8", "cvt.ue5m3"}) {
    for (const Variant& variant : specs()->variants(form)) {
      if (variant.undocumented() || variant.slot("scaled") || variant.slot("a") == "s2f6x2") continue;
      const Conversion c = conversion_of(variant);
      // Between bytes and bf16 registers would have to be bytes.
      if ((c.to == bf16 && c.from.bits == 8) || (c.from == bf16 && c.to.bits == 8 && c.to.is_integer()))
        continue;
      ++variants;
      check(c, random);
    }
  }
  CHECK(variants > 550);
}

}  // namespace ptxloom::exec::test::exact_convert_test
