// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "exec/harness.hpp"

// Every variant of cvt between integers and the wider floats. There is no second implementation of rounding
// here: a result is right if no neighbour of it would be a better answer, which is checked in numbers of 113
// bits.
namespace ptxloom::exec::test::convert_all_test {
namespace {

__extension__ using Exact = __float128;
using U64 = std::uint64_t;

struct Layout {
  std::string_view name;
  int width, mantissa;  // mantissa 0: an integer
  bool is_signed = true;

  bool is_float() const { return mantissa != 0; }
  U64 mask() const { return width == 64 ? ~U64{0} : (U64{1} << width) - 1; }
  U64 sign() const { return is_signed ? U64{1} << (width - 1) : 0; }
  int bias() const { return (1 << (width - 2 - mantissa)) - 1; }
  U64 infinity() const { return (U64{1} << (width - 1)) - (U64{1} << mantissa); }
  bool is_nan(U64 bits) const { return is_float() && (bits & ~sign()) > infinity(); }
  bool is_subnormal(U64 bits) const {
    return is_float() && (bits & infinity()) == 0 && (bits & ~sign()) != 0;
  }

  Exact value(U64 bits) const {
    if (!is_float()) {
      return is_signed && (bits & sign()) != 0 ? -static_cast<Exact>((~bits & mask()) + 1)
                                               : static_cast<Exact>(bits);
    }
    const U64 magnitude = bits & ~sign();
    // Infinity counts as the value it stands in for: the next power of two.
    const int field = static_cast<int>(magnitude >> mantissa);
    const U64 digits = (magnitude & ((U64{1} << mantissa) - 1)) | static_cast<U64>(field != 0) << mantissa;
    Exact result = static_cast<Exact>(digits);
    const int exponent = std::max(field, 1) - bias() - mantissa;
    for (int i = 0; i < exponent; ++i) result *= 2;
    for (int i = 0; i > exponent; --i) result /= 2;
    return (bits & sign()) != 0 ? -result : result;
  }
};

const Layout kLayouts[] = {{"u8", 8, 0, false},   {"u16", 16, 0, false}, {"u32", 32, 0, false},
                           {"u64", 64, 0, false}, {"s8", 8, 0},          {"s16", 16, 0},
                           {"s32", 32, 0},        {"s64", 64, 0},        {"f16", 16, 10},
                           {"bf16", 16, 7},       {"f32", 32, 23},       {"f64", 64, 52}};
const Layout& layout(std::string_view name) { return *std::ranges::find(kLayouts, name, &Layout::name); }

/// The next results below and above, as values; none beyond the ends of an integer or an infinity. Directed
/// rounding never reaches an infinity, which is then above everything.
struct Neighbours {
  std::optional<Exact> below, above;
};
Neighbours neighbours(const Layout& to, U64 bits, bool directed) {
  Neighbours result;
  if (!to.is_float()) {
    const U64 lowest = to.sign(), highest = to.mask() & ~to.sign();
    if (bits != lowest) result.below = to.value(bits) - 1;
    if (bits != highest) result.above = to.value(bits) + 1;
    return result;
  }
  const U64 magnitude = bits & ~to.sign();
  auto away = magnitude == to.infinity() ? std::nullopt : std::optional(to.value(magnitude + 1));
  if (directed && magnitude + 1 == to.infinity()) away = std::ldexp(1.0, 1023) * Exact{4};
  const Exact inward = magnitude == 0 ? -to.value(1) : to.value(magnitude - 1);
  if ((bits & to.sign()) == 0) return {.below = inward, .above = away};
  return {.below = away ? std::optional(-*away) : std::nullopt, .above = -inward};
}

Exact magnitude(Exact x) { return x < 0 ? -x : x; }

/// Whether `got` is x rounded by the word ("rn", "rmi"; none: exactly). `integral`: to integers of a float
/// type.
bool is_rounded(const Layout& to, U64 got, Exact x, std::string_view word) {
  const Exact result = to.value(got);
  const bool nearest = word.starts_with("rn");
  const auto [below, above] = neighbours(to, got, !nearest);
  if ((!above && x > result) || (!below && x < result))
    return !to.is_float() || nearest || word.starts_with(x > 0 ? "rp" : "rm");
  const auto excludes = [&](const std::optional<Exact>& other, bool inside) { return !other || inside; };
  if (word.starts_with("rm")) return (result <= x || !below) && excludes(above, above && *above > x);
  if (word.starts_with("rp")) return (result >= x || !above) && excludes(below, below && *below < x);
  if (word.starts_with("rz")) {
    const bool beyond = x < 0 ? !above : !below;
    return (magnitude(result) <= magnitude(x) || beyond) &&
           excludes(x < 0 ? below : above, x < 0 ? below && *below < x : above && *above > x);
  }
  if (word.empty()) return result == x || !below || !above;
  const Exact distance = magnitude(result - x);
  const bool even = (got & 1) == 0;
  for (const auto& other : {below, above}) {
    if (!other) continue;
    const Exact others = magnitude(*other - x);
    if (others < distance || (others == distance && !even)) return false;
  }
  return true;
}

struct Case {
  const Layout &to, &from;
  std::string_view round;
  bool ftz, sat;
  std::string opcode;

  /// Why the result is wrong; empty if it is right.
  std::string check(U64 in, U64 got) const {
    if (ftz && from.name == "f32" && to.name != "f16" && from.is_subnormal(in)) in &= from.sign();
    if (from.is_nan(in)) return check_nan(got);
    if (sat && to.is_float()) return check_saturated(in, got);
    if (ftz && to.name == "f32" && to.is_subnormal(got)) return "a subnormal is left";
    if (from.is_float() && (in & ~from.sign()) == from.infinity()) return check_infinity(in, got);
    if (to.is_nan(got)) return "NaN of a number";
    const bool negative = (in & from.sign()) != 0;
    if (to.is_float() && from.value(in) != 0 && to.value(got) != 0 && ((got & to.sign()) != 0) != negative)
      return "wrong sign";
    if (to.is_float() && from.is_float() && ((got & to.sign()) != 0) != negative) return "sign lost";
    if (ftz && to.name == "f32" && to.value(got) == 0) return {};  // flushed
    return is_right(in, got) ? "" : "a neighbour is nearer";
  }

 private:
  bool is_right(U64 in, U64 got) const {
    const Exact x = from.value(in);
    if (!round.ends_with('i') || !to.is_float()) {
      // Without a float, no clamping unless asked: the low bits.
      if (!from.is_float() && !to.is_float() && !sat) return got == (in_sign_extended(in) & to.mask());
      return is_rounded(to, got, x, round);
    }
    const Layout wide{"", 64, 0};
    const Exact result = to.value(got);
    if (magnitude(x) >= 0x1p60) return result == x;
    const auto integer = static_cast<std::int64_t>(result);
    return static_cast<Exact>(integer) == result && is_rounded(wide, static_cast<U64>(integer), x, round);
  }
  U64 in_sign_extended(U64 in) const { return (in & from.sign()) != 0 ? in | ~from.mask() : in; }
  std::string check_nan(U64 got) const {
    if (to.is_float()) return sat ? (got == 0 ? "" : "NaN is not +0") : (to.is_nan(got) ? "" : "NaN lost");
    const U64 expected = to.width == 64 || from.name == "f64" ? U64{1} << (to.width - 1) : 0;
    return got == expected ? "" : "wrong integer of NaN";
  }
  std::string check_infinity(U64 in, U64 got) const {
    const bool negative = (in & from.sign()) != 0;
    if (to.is_float()) return got == (to.infinity() | (negative ? to.sign() : 0)) ? "" : "infinity lost";
    return got == (negative ? to.sign() : to.mask() & ~to.sign()) ? "" : "infinity is not clamped";
  }
  std::string check_saturated(U64 in, U64 got) const {
    const U64 one = static_cast<U64>(to.bias()) << to.mantissa;
    if (from.is_float() && (in & ~from.sign()) == from.infinity())
      return got == ((in & from.sign()) != 0 ? 0 : one) ? "" : "infinity";
    const Exact x = from.value(in);
    if (x <= 0) return got == 0 ? "" : "a negative is not +0";
    if (x >= 1) return got == one ? "" : "more than 1";
    if (ftz && to.name == "f32" && got == 0) return {};
    return is_right(in, got) ? "" : "a neighbour is nearer";
  }
};

/// Patterns of the type: random, small, at the ends, near what other types can hold.
std::vector<U64> patterns(const Layout& type, Random& random) {
  std::vector<U64> values(2048);
  for (U64& value : values) {
    value = random.bits();
    if (random.below(3) == 0) value >>= random.below(static_cast<std::uint32_t>(type.width));
    if (random.below(8) == 0)
      value = (U64{1} << random.below(static_cast<std::uint32_t>(type.width))) + random.below(3) - 1;
    if (type.is_float() && random.below(2) == 0) {  // values of a size that integers have, halves among them
      const U64 exponent = static_cast<U64>(type.bias() - 3 + static_cast<int>(random.below(70)));
      value = (exponent << type.mantissa & type.infinity()) |
              (random.bits() & (random.below(2) == 0 ? ~type.infinity() : U64{7} << (type.mantissa - 3))) |
              (random.bits() & type.sign());
      value &= type.mask();
    }
    value &= type.mask();
  }
  return values;
}

/// Registers of 64 bits hold the operands, as wide as the type; what lies above them is not zero.
std::string statements_of(const Case& c) {
  const auto bits = [](const Layout& type) { return std::to_string(std::max(type.width, 16)); };
  std::string text = ".reg .b" + bits(c.from) + " %x; .reg .b" + bits(c.to) + " %y; ";
  text += c.from.width == 64 ? "mov.b64 %x, %a; " : "cvt.u" + bits(c.from) + ".u64 %x, %a; ";
  text += c.opcode + " %y, %x; ";
  return text + (c.to.width == 64 ? "mov.b64 %d, %y;" : "cvt.u64.u" + bits(c.to) + " %d, %y;");
}

}  // namespace

TEST_CASE("every cvt between integers and f16, bf16, f32 and f64 gives the nearest result in its direction") {
  Random random;
  INFO("seed " << random.seed);
  std::size_t variants = 0;
  for (const Variant& variant : specs()->variants("cvt")) {
    const auto word = [&](std::string_view slot) { return variant.slot(slot).value_or(""); };
    const Case c{.to = layout(word("d")),
                 .from = layout(word("a")),
                 .round = word("rnd"),
                 .ftz = !word("ftz").empty(),
                 .sat = !word("sat").empty(),
                 .opcode = std::string(variant.opcode())};
    // Between bytes and bf16 registers would have to be bytes.
    if ((c.to.name == "bf16" && c.from.width == 8) || (c.from.name == "bf16" && c.to.width == 8)) continue;
    if (variant.undocumented()) continue;
    ++variants;
    auto in = patterns(c.from, random);
    std::vector<U64> raw = in;  // with rubbish above the type
    for (U64& value : raw)
      if (c.from.width < 64) value |= random.bits() << c.from.width;
    const auto out = each_thread<U64>(statements_of(c), raw);
    for (std::size_t i = 0; i < in.size(); ++i) {
      const std::string why = c.check(in[i], out[i] & c.to.mask());
      if (why.empty()) continue;
      CAPTURE(c.opcode, in[i], out[i], why);
      FAIL_CHECK("wrong result");
      break;
    }
  }
  CHECK(variants > 500);
}

}  // namespace ptxloom::exec::test::convert_all_test
