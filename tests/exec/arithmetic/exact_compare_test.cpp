// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <string_view>

#include "base/numeric_arithmetic.hpp"
#include "exec/arithmetic/boundaries.hpp"
#include "exec/harness.hpp"
#include "ptxloom/numeric.hpp"

// Every variant of setp and set in the specs against what it says of two values: each boundary of a float
// type with each other, integers at random, of which a third are equal; by all lanes of a warp or by some.
namespace ptxloom::exec::test::exact_compare_test {
namespace {

using Bits = std::uint64_t;

std::string_view word(const Variant& variant, std::string_view slot) {
  const std::string_view found = variant.slot(slot).value_or("");
  return found == "-" ? "" : found;
}

/// What holds of two values.
enum Relation : unsigned { kLess = 1, kEqual = 2, kGreater = 4, kUnordered = 8 };
struct Comparison {
  std::string_view name;
  unsigned holds;
};
constexpr Comparison kComparisons[] = {
    {"eq", kEqual},
    {"ne", kLess | kGreater},
    {"lt", kLess},
    {"le", kLess | kEqual},
    {"gt", kGreater},
    {"ge", kGreater | kEqual},
    {"lo", kLess},
    {"ls", kLess | kEqual},
    {"hi", kGreater},
    {"hs", kGreater | kEqual},
    {"equ", kEqual | kUnordered},
    {"neu", kLess | kGreater | kUnordered},
    {"ltu", kLess | kUnordered},
    {"leu", kLess | kEqual | kUnordered},
    {"gtu", kGreater | kUnordered},
    {"geu", kGreater | kEqual | kUnordered},
    {"num", kLess | kEqual | kGreater},
    {"nan", kUnordered},
};

template <class T>
unsigned relation(T a, T b) {
  return a < b ? kLess : a == b ? kEqual : a > b ? kGreater : kUnordered;
}

struct Subject {
  explicit Subject(const Variant& variant)
      : opcode(variant.opcode()),
        logic(word(variant, "logic")),
        dst(word(variant, "dst")),
        ftz(!word(variant, "ftz").empty()),
        has_second(variant.operand_index("Q") >= 0) {
    std::string_view name = word(variant, "type");
    packed = name.ends_with("x2");
    if (packed) name.remove_suffix(2);
    type = *find_type(name);
    holds = std::ranges::find(kComparisons, word(variant, "cmp"), &Comparison::name)->holds;
  }
  std::string opcode, logic, dst;
  bool ftz, has_second, packed = false;
  Type type;
  unsigned holds;

  int bits() const { return type.bits * (packed ? 2 : 1); }
  unsigned relation_of(Bits a, Bits b) const {
    if (type.is_float()) {
      const auto value = [&](Bits bits) {
        const double x = narrow::decode(type, bits);
        return ftz && std::abs(x) < (type == f16 ? 0x1p-14 : 0x1p-126) ? 0 : x;
      };
      return relation(value(a), value(b));
    }
    const int above = 64 - type.bits;
    if (type.is_signed())
      return relation(static_cast<std::int64_t>(a << above) >> above,
                      static_cast<std::int64_t>(b << above) >> above);
    return relation(a, b);
  }
  bool compared(Bits a, Bits b) const { return (holds & relation_of(a, b)) != 0; }
  bool joined(bool result, bool c) const {
    if (logic == "and") return result && c;
    if (logic == "or") return result || c;
    return logic == "xor" ? result != c : result;
  }
  /// What true is in each half of the destination of set, or in all of it.
  Bits yes() const {
    if (dst == "f32") return 0x3f80'0000;
    if (dst.starts_with("f16")) return 0x3c00;
    if (dst.starts_with("bf16")) return 0x3f80;
    return packed || dst.ends_with("16") ? 0xffff : 0xffff'ffff;
  }
};

struct Operands {
  std::vector<Bits> a, b;
};
Operands operands(const Subject& s, Random& random) {
  Operands result;
  if (!s.type.is_float()) {
    result = {integers<Bits>(random), integers<Bits>(random)};
    for (std::size_t i = 0; i < kSamples; i += 3) result.b[i] = result.a[i];
    for (Bits* value : {result.a.data(), result.b.data()}) {
      for (std::size_t i = 0; i < kSamples && s.type.bits < 64; ++i) value[i] &= (Bits{1} << s.type.bits) - 1;
    }
    return result;
  }
  const std::vector<Bits> edges = boundaries(*base::find_format(s.type));
  for (std::size_t i = 0; i < edges.size() * edges.size(); ++i) {
    result.a.push_back(edges[i / edges.size()]);
    result.b.push_back(edges[i % edges.size()]);
  }
  for (std::size_t i = 0; s.packed && i < result.a.size(); ++i) {  // the high halves in another order
    const std::size_t other = (i * 5 + 3) % result.a.size();
    result.a[i] |= (result.a[other] & 0xffff) << 16;
    result.b[i] |= (result.b[other] & 0xffff) << 16;
  }
  return result;
}

/// Bit 0 or, for set, all: the result; for setp bit 1: the second one.
std::string statements_of(const Subject& s) {
  const std::string width = std::to_string(s.bits()), joined = s.logic.empty() ? "; " : ", %c; ";
  std::string text =
      ".reg .pred %on, %p, %q, %c; .reg .b32 %y, %z; mov.b32 %y, 0; mov.b32 %z, 0; setp.ne.u32 %p, 0, 0; "
      "setp.ne.u32 %q, 0, 0; and.b32 %n, %t, 7; setp.ne.u32 %on, %n, %t; and.b32 %n, %t, 1; "
      "setp.ne.u32 %c, %n, 0; .reg .b" +
      width + " %x0, %x1; ";
  for (const char* move : {"%x0, %a; ", "%x1, %b; "})
    text += (s.bits() == 64 ? "mov.b64 " : "cvt.u" + width + ".u64 ") + std::string(move);
  if (s.dst.empty())
    return text + "@%on " + s.opcode + (s.has_second ? " %p|%q" : " %p") + ", %x0, %x1" + joined +
           "selp.b32 %y, 1, 0, %p; selp.b32 %z, 2, 0, %q; or.b32 %y, %y, %z; cvt.u64.u32 %d, %y;";
  return text + "@%on " + s.opcode + " %y, %x0, %x1" + joined + "cvt.u64.u32 %d, %y;";
}

Bits expected_of(const Subject& s, Bits a, Bits b, bool c) {
  const Bits mask = s.type.bits == 64 ? ~Bits{0} : (Bits{1} << s.type.bits) - 1;
  const bool low = s.compared(a & mask, b & mask),
             other = s.packed ? s.compared(a >> 16 & mask, b >> 16 & mask) : !low;
  const bool p = s.joined(low, c), q = s.joined(other, c);
  if (s.dst.empty()) return Bits{p} | Bits{s.has_second && q} << 1;
  return (p ? s.yes() : 0) | (s.packed && q ? s.yes() << 16 : 0);
}

void check(const Subject& s, Random& random) {
  const auto [a, b] = operands(s, random);
  const auto out = each_thread<Bits>(statements_of(s), a, b);
  const Bits mask = s.dst.ends_with("16") && !s.packed ? 0xffff : 0xffff'ffff;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Bits expected = i < 8 ? 0 : expected_of(s, a[i], b[i], i % 2 != 0);
    if ((out[i] & mask) == expected) continue;
    CAPTURE(s.opcode, i, a[i], b[i], out[i], expected);
    FAIL_CHECK("wrong result");
    return;
  }
}

}  // namespace

TEST_CASE("every variant of a comparison says what holds of its operands") {
  Random random;
  INFO("seed " << random.seed);
  const auto [form, count] = GENERATE(table<const char*, std::size_t>({{"setp", 720}, {"set", 3168}}));
  std::size_t variants = 0;
  for (const Variant& variant : specs()->variants(form)) {
    if (variant.undocumented()) continue;
    ++variants;
    check(Subject(variant), random);
  }
  CAPTURE(form);
  CHECK(variants >= count);
}

}  // namespace ptxloom::exec::test::exact_compare_test
