// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <functional>

#include "exec/harness.hpp"

// Video instructions, against the manual's pseudo-code where it is what the hardware does.
namespace ptxloom::exec::test::video_test {
namespace {

using U32 = std::uint32_t;
using S64 = std::int64_t;

const char* type_name(bool is_signed) { return is_signed ? "s32" : "u32"; }

/// partSelectSignExtend of the manual.
S64 select(U32 value, const std::string& selector, bool is_signed) {
  if (selector == ".b1")
    return is_signed ? S64{static_cast<std::int8_t>(value >> 8)} : S64{value >> 8 & 0xff};
  if (selector == ".b3") return is_signed ? S64{static_cast<std::int8_t>(value >> 24)} : S64{value >> 24};
  if (selector == ".h1") return is_signed ? S64{static_cast<std::int16_t>(value >> 16)} : S64{value >> 16};
  return is_signed ? S64{static_cast<std::int32_t>(value)} : S64{value};
}

S64 clamp(S64 value, int bits, bool is_signed) {
  const S64 range = S64{1} << (is_signed ? bits - 1 : bits);
  return std::clamp(value, is_signed ? -range : S64{0}, range - 1);
}

struct Primary {
  std::string words;
  std::function<S64(S64, S64)> apply;
};
const Primary kPrimaries[] = {{"vadd", [](S64 a, S64 b) { return a + b; }},
                              {"vsub", [](S64 a, S64 b) { return a - b; }},
                              {"vabsdiff", [](S64 a, S64 b) { return std::abs(a - b); }},
                              {"vmin", [](S64 a, S64 b) { return std::min(a, b); }},
                              {"vmax", [](S64 a, S64 b) { return std::max(a, b); }}};

}  // namespace

TEST_CASE("scalar video operations select, clamp, join and merge") {
  Random random;
  INFO("seed " << random.seed);
  const auto a = integers<U32>(random), b = integers<U32>(random), c = integers<U32>(random);
  const std::string selectors[] = {"", ".b1", ".b3", ".h1"};
  for (const Primary& primary : kPrimaries) {
    for (int flags = 0; flags < 8; ++flags) {
      const bool d_signed = (flags & 1) != 0, a_signed = (flags & 2) != 0, b_signed = (flags & 4) != 0;
      const std::string sa = selectors[random.below(4)], sb = selectors[random.below(4)];
      const std::string opcode =
          primary.words + "." + type_name(d_signed) + "." + type_name(a_signed) + "." + type_name(b_signed);
      const auto value = [&](U32 x, U32 y) {
        return primary.apply(select(x, sa, a_signed), select(y, sb, b_signed));
      };
      expect<U32>(
          opcode + " %d, %a" + sa + ", %b" + sb + ";",
          [&](U32 x, U32 y) { return static_cast<U32>(value(x, y)); }, a, b);
      expect<U32>(
          opcode + ".add %d, %a" + sa + ", %b" + sb + ", %c;",
          [&](U32 x, U32 y, U32 z) { return static_cast<U32>(value(x, y)) + z; }, a, b, c);
      expect<U32>(
          opcode + " %d.b2, %a" + sa + ", %b" + sb + ", %c;",
          [&](U32 x, U32 y, U32 z) {
            return (z & 0xff00'ffff) | (static_cast<U32>(value(x, y)) & 0xff) << 16;
          },
          a, b, c);
    }
  }
}

// What saturates is the manual's for a signed word, and where nothing is too large; measured_test.cpp has the
// rest.
TEST_CASE("scalar video operations saturate and take the smaller or larger of words") {
  Random random;
  INFO("seed " << random.seed);
  const auto a = integers<U32>(random), b = integers<U32>(random), c = integers<U32>(random);
  const auto s = [](U32 x) { return S64{static_cast<std::int32_t>(x)}; };
  const auto byte = [](U32 x) { return S64{x >> 24}; };
  expect<U32>(
      "vsub.s32.u32.s32.sat %d, %a, %b;",
      [&](U32 x, U32 y) { return static_cast<U32>(clamp(S64{x} - s(y), 32, true)); }, a, b);
  expect<U32>(
      "vsub.u32.u32.u32.sat %d, %a.b3, %b;",
      [&](U32 x, U32 y) { return static_cast<U32>(clamp(byte(x) - S64{y}, 32, false)); }, a, b);
  expect<U32>(
      "vadd.u32.u32.u32.sat %d.b2, %a.b3, %b.b3, %c;",
      [&](U32 x, U32 y, U32 z) {
        return (z & 0xff00'ffff) | static_cast<U32>(clamp(byte(x) + byte(y), 8, false)) << 16;
      },
      a, b, c);
  expect<U32>(
      "vabsdiff.s32.s32.s32.max %d, %a.b3, %b.b3, %c;",
      [&](U32 x, U32 y, U32 z) {
        const auto signed_byte = [](U32 v) { return S64{static_cast<std::int8_t>(v >> 24)}; };
        return static_cast<U32>(std::max(std::abs(signed_byte(x) - signed_byte(y)), s(z)));
      },
      a, b, c);
  expect<U32>(
      "vmin.u32.u32.u32.min %d, %a, %b, %c;", [](U32 x, U32 y, U32 z) { return std::min({x, y, z}); }, a, b,
      c);
}

TEST_CASE("video shifts clamp or wrap their amount, comparisons give one") {
  Random random;
  INFO("seed " << random.seed);
  const auto a = integers<U32>(random), c = integers<U32>(random);
  auto b = integers<U32>(random);
  for (std::size_t i = 0; i < b.size(); i += 2) b[i] %= 40;
  const auto amount = [](U32 n, bool wrap) { return wrap ? n & 31 : std::min(n, 32u); };
  for (const bool wrap : {false, true}) {
    const std::string mode = wrap ? ".wrap" : ".clamp";
    expect<U32>(
        "vshr.s32.s32.u32" + mode + " %d, %a, %b;",
        [&](U32 x, U32 y) {
          const U32 n = amount(y, wrap);
          return static_cast<U32>(static_cast<S64>(static_cast<std::int32_t>(x)) >> n);
        },
        a, b);
    expect<U32>(
        "vshl.u32.u32.u32" + mode + " %d, %a, %b.b1;",
        [&](U32 x, U32 y) { return static_cast<U32>(S64{x} << amount(y >> 8 & 0xff, wrap)); }, a, b);
  }
  expect<U32>(
      "vset.s32.u32.lt %d, %a, %b;",
      [](U32 x, U32 y) { return U32{S64{static_cast<std::int32_t>(x)} < S64{y}}; }, a, b);
  expect<U32>(
      "vset.u32.u32.ge.add %d, %a.h1, %b.h1, %c;",
      [](U32 x, U32 y, U32 z) { return U32{(x >> 16) >= (y >> 16)} + z; }, a, b, c);
}

TEST_CASE("vmad multiplies, adds one or subtracts, scales and clamps") {
  Random random;
  INFO("seed " << random.seed);
  const auto a = integers<U32>(random), b = integers<U32>(random), c = integers<U32>(random);
  const auto s = [](U32 x) { return S64{static_cast<std::int32_t>(x)}; };
  const auto sat = [](S64 value) { return static_cast<U32>(std::clamp<S64>(value, INT32_MIN, INT32_MAX)); };
  expect<U32>("vmad.u32.u32.u32 %d, %a, %b, %c;", [&](U32 x, U32 y, U32 z) { return x * y + z; }, a, b, c);
  expect<U32>(
      "vmad.s32.s32.u32.sat.shr7 %d, %a, %b.b3, %c;",
      [&](U32 x, U32 y, U32 z) { return sat((s(x) * (y >> 24) + s(z)) >> 7); }, a, b, c);
  expect<U32>(
      "vmad.s32.s32.s32.sat %d, -%a, %b, %c;",
      [&](U32 x, U32 y, U32 z) { return sat(-(s(x) * s(y)) + s(z)); }, a, b, c);
  expect<U32>(
      "vmad.s32.u32.u32.sat %d, %a.h1, %b.b1, -%c;",
      [&](U32 x, U32 y, U32 z) { return sat(S64{x >> 16} * (y >> 8 & 0xff) - s(z)); }, a, b, c);
  expect<U32>(
      "vmad.u32.u32.u32.po.shr7 %d, %a.b3, %b.b1, %c;",
      [&](U32 x, U32 y, U32 z) {
        return static_cast<U32>(static_cast<std::uint64_t>(S64{x >> 24} * (y >> 8 & 0xff) + s(z) + 1) >> 7);
      },
      a, b, c);
}

TEST_CASE("video pairs and quads choose elements of both sources and write those of the mask") {
  Random random;
  INFO("seed " << random.seed);
  const auto a = integers<U32>(random), b = integers<U32>(random), c = integers<U32>(random);
  struct Simd {
    std::string selector_a, selector_b, written;  // as in PTX; "" is the default
    std::vector<int> elements_a, elements_b;      // lowest first
    U32 mask;
  };
  const auto check = [&](int width, const Simd& simd) {
    const std::size_t count = simd.elements_a.size();
    const auto element = [&](U32 x, U32 y, int index, bool is_signed) {
      const U32 source = index < static_cast<int>(count) ? x : y;
      const U32 bits = source >> (width * (index % static_cast<int>(count))) & ((1u << width) - 1);
      return is_signed && (bits >> (width - 1) & 1) != 0 ? S64{bits} - (S64{1} << width) : S64{bits};
    };
    const auto reference = [&](const std::function<S64(S64, S64)>& f, bool a_signed, bool b_signed,
                               bool add) {
      return [=, &simd](U32 x, U32 y, U32 z) {
        U32 result = z;
        for (std::size_t i = 0; i < count; ++i) {
          if ((simd.mask >> i & 1) == 0) continue;
          const S64 value =
              f(element(x, y, simd.elements_a[i], a_signed), element(x, y, simd.elements_b[i], b_signed));
          const int shift = width * static_cast<int>(i);
          const U32 field = ((1u << width) - 1) << shift;
          result = add ? result + static_cast<U32>(value)
                       : (result & ~field) | (static_cast<U32>(value) << shift & field);
        }
        return result;
      };
    };
    const std::string operands =
        " %d" + simd.written + ", %a" + simd.selector_a + ", %b" + simd.selector_b + ", %c;";
    const std::string n = std::to_string(count);
    for (const Primary& primary : kPrimaries) {
      const auto f = primary.apply;
      expect<U32>(primary.words + n + ".s32.s32.u32" + operands, reference(f, true, false, false), a, b, c);
      expect<U32>(primary.words + n + ".u32.s32.u32.sat" + operands,
                  reference([&](S64 x, S64 y) { return clamp(f(x, y), width, false); }, true, false, false),
                  a, b, c);
      expect<U32>(primary.words + n + ".s32.u32.s32.sat" + operands,
                  reference([&](S64 x, S64 y) { return clamp(f(x, y), width, true); }, false, true, false), a,
                  b, c);
      expect<U32>(primary.words + n + ".s32.s32.s32.add" + operands, reference(f, true, true, true), a, b, c);
    }
    const auto average = [](S64 x, S64 y) {  // halves go away from zero only above it
      const S64 sum = x + y;
      return sum >= 0 ? (sum + 1) / 2 : sum / 2 - (sum % 2 != 0);
    };
    expect<U32>("vavrg" + n + ".s32.s32.s32" + operands, reference(average, true, true, false), a, b, c);
    expect<U32>("vset" + n + ".s32.s32.le" + operands,
                reference([](S64 x, S64 y) { return S64{x <= y}; }, true, true, false), a, b, c);
  };
  check(16, {"", "", "", {0, 1}, {2, 3}, 3});
  check(16, {".h03", ".h21", ".h1", {3, 0}, {1, 2}, 2});
  check(8, {"", "", "", {0, 1, 2, 3}, {4, 5, 6, 7}, 15});
  check(8, {".b7041", ".b2635", ".b310", {1, 4, 0, 7}, {5, 3, 6, 2}, 11});
}

}  // namespace ptxloom::exec::test::video_test
