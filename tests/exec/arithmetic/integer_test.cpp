// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstdlib>

#include "exec/harness.hpp"

// Reference: arithmetic of the host in wider integers.
namespace ptxloom::exec::test::integer_test {
namespace {

__extension__ using int128 = __int128;

template <class T>
constexpr const char* name() {
  if constexpr (std::is_signed_v<T>) return sizeof(T) == 2 ? "s16" : sizeof(T) == 4 ? "s32" : "s64";
  return sizeof(T) == 2 ? "u16" : sizeof(T) == 4 ? "u32" : "u64";
}

template <class D, class T, class F>
void expect2(const std::string& opcode, Random& random, F f) {
  INFO("seed " << random.seed);
  expect<D>(
      opcode + " %d, %a, %b;", [&](T a, T b) { return static_cast<D>(f(int128{a}, int128{b})); },
      integers<T>(random), integers<T>(random));
}
template <class D, class T, class F>
void expect3(const std::string& opcode, Random& random, F f) {
  INFO("seed " << random.seed);
  expect<D>(
      opcode + " %d, %a, %b, %c;",
      [&](T a, T b, D c) { return static_cast<D>(f(int128{a}, int128{b}, int128{c})); }, integers<T>(random),
      integers<T>(random), integers<D>(random));
}

}  // namespace

TEMPLATE_TEST_CASE("integer sums, products and quotients agree with wide host arithmetic", "", std::uint16_t,
                   std::int16_t, std::uint32_t, std::int32_t, std::uint64_t, std::int64_t) {
  using T = TestType;
  Random random;
  const std::string type = name<T>();
  constexpr int width = 8 * sizeof(T);
  expect2<T, T>("add." + type, random, [](int128 a, int128 b) { return a + b; });
  expect2<T, T>("sub." + type, random, [](int128 a, int128 b) { return a - b; });
  expect2<T, T>("min." + type, random, [](int128 a, int128 b) { return a < b ? a : b; });
  expect2<T, T>("max." + type, random, [](int128 a, int128 b) { return a < b ? b : a; });
  const auto product = [](int128 a, int128 b) {
    return static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b);
  };
  expect2<T, T>("mul.lo." + type, random, product);
  expect2<T, T>("mul.hi." + type, random, [](int128 a, int128 b) {
    if constexpr (sizeof(T) < 8) return (a * b) >> width;
    __extension__ using uint128 = unsigned __int128;
    if constexpr (std::is_unsigned_v<T>)
      return static_cast<int128>(static_cast<uint128>(a) * static_cast<uint128>(b) >> 64);
    return (a * b) >> 64;
  });
  expect2<T, T>("div." + type, random, [](int128 a, int128 b) { return b == 0 ? int128{-1} : a / b; });
  expect2<T, T>("rem." + type, random, [](int128 a, int128 b) { return b == 0 ? int128{-1} : a % b; });
  expect3<T, T>("mad.lo." + type, random,
                [&](int128 a, int128 b, int128 c) { return product(a, b) + static_cast<std::uint64_t>(c); });
}

TEST_CASE("wide products double the width") {
  Random random;
  const auto product = [](int128 a, int128 b) { return a * b; };
  const auto sum = [](int128 a, int128 b, int128 c) { return a * b + c; };
  expect2<std::uint32_t, std::uint16_t>("mul.wide.u16", random, product);
  expect2<std::int32_t, std::int16_t>("mul.wide.s16", random, product);
  expect2<std::uint64_t, std::uint32_t>("mul.wide.u32", random, product);
  expect2<std::int64_t, std::int32_t>("mul.wide.s32", random, product);
  expect3<std::uint64_t, std::uint32_t>("mad.wide.u32", random, sum);
  expect3<std::int64_t, std::int32_t>("mad.wide.s32", random, sum);
}

TEST_CASE("saturated sums stop at the ends of the range") {
  Random random;
  const auto clamp = [](int128 value) { return std::clamp<int128>(value, INT32_MIN, INT32_MAX); };
  expect2<std::int32_t, std::int32_t>("add.sat.s32", random,
                                      [&](int128 a, int128 b) { return clamp(a + b); });
  expect2<std::int32_t, std::int32_t>("sub.sat.s32", random,
                                      [&](int128 a, int128 b) { return clamp(a - b); });
  expect3<std::int32_t, std::int32_t>("mad.hi.sat.s32", random,
                                      [&](int128 a, int128 b, int128 c) { return clamp((a * b >> 32) + c); });
}

TEST_CASE("a carry goes from one sum to the next") {
  Random random;
  INFO("seed " << random.seed);
  const auto a = integers<std::uint64_t>(random), b = integers<std::uint64_t>(random);
  const std::string parts =
      ".reg .b32 %al, %ah, %bl, %bh, %dl, %dh; mov.b64 {%al, %ah}, %a; mov.b64 {%bl, %bh}, %b;\n";
  expect<std::uint64_t>(
      parts + "add.cc.u32 %dl, %al, %bl; addc.u32 %dh, %ah, %bh; mov.b64 %d, {%dl, %dh};",
      [](std::uint64_t x, std::uint64_t y) { return x + y; }, a, b);
  expect<std::uint64_t>(
      parts + "sub.cc.u32 %dl, %al, %bl; subc.u32 %dh, %ah, %bh; mov.b64 %d, {%dl, %dh};",
      [](std::uint64_t x, std::uint64_t y) { return x - y; }, a, b);
  expect<std::uint64_t>(
      parts +
          "mul.lo.u32 %dl, %al, %bl; mul.hi.u32 %dh, %al, %bl; mad.lo.cc.u32 %dl, %al, 1, %dl; madc.lo.u32 "
          "%dh, 0, 0, %dh;"
          "mov.b64 %d, {%dl, %dh};",
      [](std::uint64_t x, std::uint64_t y) { return (x & 0xffffffff) * (y & 0xffffffff) + (x & 0xffffffff); },
      a, b);
}

TEST_CASE("packed pairs are two sums that do not meet") {
  Random random;
  INFO("seed " << random.seed);
  expect<std::uint32_t>(
      "add.u16x2 %d, %a, %b;",
      [](std::uint32_t a, std::uint32_t b) {
        return ((a + b) & 0xffff) | ((a & 0xffff0000) + (b & 0xffff0000));
      },
      integers<std::uint32_t>(random), integers<std::uint32_t>(random));
  expect<std::uint32_t>(
      "max.relu.s16x2 %d, %a, %b;",
      [](std::uint32_t a, std::uint32_t b) {
        const auto half = [](std::uint32_t x, std::uint32_t y) {
          const int l = static_cast<std::int16_t>(x), r = static_cast<std::int16_t>(y);
          return static_cast<std::uint32_t>(std::max({l, r, 0}));
        };
        return half(a, b) | half(a >> 16, b >> 16) << 16;
      },
      integers<std::uint32_t>(random), integers<std::uint32_t>(random));
}

TEST_CASE("packed bytes are four values that do not meet") {
  Random random;
  INFO("seed " << random.seed);
  const auto a = integers<std::uint32_t>(random), b = integers<std::uint32_t>(random);
  const auto compare = [&](const std::string& opcode, auto type, auto f) {
    using T = decltype(type);
    const auto out = each_thread_on<std::uint32_t>("sm_120f", opcode + " %d, %a, %b;", a, b);
    for (std::size_t i = 0; i < out.size(); ++i) {
      for (int shift = 0; shift < 32; shift += 8) {
        const int expected = f(int{static_cast<T>(a[i] >> shift)}, int{static_cast<T>(b[i] >> shift)});
        CAPTURE(opcode, a[i], b[i], out[i], shift);
        REQUIRE((out[i] >> shift & 0xff) == (static_cast<std::uint32_t>(expected) & 0xff));
      }
    }
  };
  compare("add.u8x4", std::uint8_t{}, [](int x, int y) { return x + y; });
  compare("sub.s8x4", std::int8_t{}, [](int x, int y) { return x - y; });
  compare("add.sat.u8x4", std::uint8_t{}, [](int x, int y) { return std::min(x + y, 255); });
  compare("sub.sat.u8x4", std::uint8_t{}, [](int x, int y) { return std::max(x - y, 0); });
  compare("add.sat.s8x4", std::int8_t{}, [](int x, int y) { return std::clamp(x + y, -128, 127); });
  compare("sub.sat.s8x4", std::int8_t{}, [](int x, int y) { return std::clamp(x - y, -128, 127); });
  compare("min.s8x4", std::int8_t{}, [](int x, int y) { return std::min(x, y); });
  compare("max.u8x4", std::uint8_t{}, [](int x, int y) { return std::max(x, y); });
  compare("max.relu.s8x4", std::int8_t{}, [](int x, int y) { return std::max({x, y, 0}); });
  const auto negated = each_thread_on<std::uint32_t>("sm_120f", "neg.s8x4 %d, %a;", a);
  for (std::size_t i = 0; i < a.size(); ++i) REQUIRE(((negated[i] + (a[i] & 0xff)) & 0xff) == 0);
}

TEST_CASE("saturated sums of other types stop at the ends of theirs") {
  const std::vector<std::uint32_t> a(64, 0xfff0'7ff0), b(64, 0x0020'0020);
  const auto first = [&](const std::string& opcode) {
    return each_thread_on<std::uint32_t>("sm_120f", opcode + " %d, %a, %b;", a, b)[0];
  };
  CHECK(first("add.sat.u32") == 0xffff'ffff);
  CHECK(first("add.sat.u16x2") == 0xffff'8010);
  CHECK(first("add.sat.s16x2") == 0x0010'7fff);
}

TEST_CASE("clmad multiplies without carries") {
  Random random;
  INFO("seed " << random.seed);
  const auto a = integers<std::uint64_t>(random), b = integers<std::uint64_t>(random),
             c = integers<std::uint64_t>(random);
  const auto low = each_thread<std::uint64_t>("clmad.lo.u64 %d, %a, %b, %c;", a, b, c);
  const auto high = each_thread<std::uint64_t>("clmad.hi.u64 %d, %a, %b, %c;", a, b, c);
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::uint64_t bottom = c[i], top = c[i];
    for (int bit = 0; bit < 64; ++bit) {
      if ((a[i] >> bit & 1) == 0) continue;
      bottom ^= b[i] << bit;
      if (bit > 0) top ^= b[i] >> (64 - bit);
    }
    REQUIRE(low[i] == bottom);
    REQUIRE(high[i] == top);
  }
}

TEST_CASE("signs, and dot products of bytes") {
  Random random;
  INFO("seed " << random.seed);
  expect<std::int32_t>(
      "abs.s32 %d, %a;", [](std::int32_t a) { return static_cast<std::int32_t>(std::llabs(a)); },
      integers<std::int32_t>(random));
  expect<std::int16_t>(
      "neg.s16 %d, %a;", [](std::int16_t a) { return static_cast<std::int16_t>(-a); },
      integers<std::int16_t>(random));
  expect<std::int32_t>(
      "dp4a.s32.u32 %d, %a, %b, %c;",
      [](std::uint32_t a, std::uint32_t b, std::int32_t c) {
        std::int64_t sum = c;
        for (unsigned i = 0; i < 32; i += 8)
          sum += static_cast<std::int8_t>(a >> i) * static_cast<std::int64_t>(b >> i & 255);
        return static_cast<std::int32_t>(sum);
      },
      integers<std::uint32_t>(random), integers<std::uint32_t>(random), integers<std::int32_t>(random));
}

TEMPLATE_TEST_CASE("shifts beyond the width give zero or the sign", "", std::uint16_t, std::int16_t,
                   std::uint32_t, std::int32_t, std::uint64_t, std::int64_t) {
  using T = TestType;
  using U = std::make_unsigned_t<T>;
  Random random;
  INFO("seed " << random.seed);
  constexpr std::uint32_t width = 8 * sizeof(T);
  std::vector<std::uint32_t> counts(kSamples);
  for (auto& count : counts)
    count = random.below(4) == 0 ? static_cast<std::uint32_t>(random.bits()) : random.below(width + 3);
  expect<T>(
      "shl.b" + std::to_string(width) + " %d, %a, %b;",
      [&](T a, std::uint32_t n) {
        return static_cast<T>(n >= width ? 0 : static_cast<std::uint64_t>(static_cast<U>(a)) << n);
      },
      integers<T>(random), counts);
  expect<T>(
      "shr." + std::string(name<T>()) + " %d, %a, %b;",
      [&](T a, std::uint32_t n) { return static_cast<T>(static_cast<int128>(a) >> std::min(n, 100u)); },
      integers<T>(random), counts);
}

TEST_CASE("bit fields follow the manual's loops") {
  Random random;
  INFO("seed " << random.seed);
  const auto bfe = [](std::uint32_t a, std::uint32_t b, std::uint32_t c, bool is_signed) {
    const std::uint32_t pos = b & 255, len = c & 255;
    const bool sign = is_signed && len != 0 && (a >> std::min(pos + len - 1, 31u) & 1) != 0;
    std::uint32_t d = 0;
    for (std::uint32_t i = 0; i < 32; ++i)
      d |= std::uint32_t{i < len && pos + i <= 31 ? (a >> (pos + i) & 1) != 0 : sign} << i;
    return d;
  };
  const auto small = [&] {
    std::vector<std::uint32_t> values(kSamples);
    for (auto& value : values)
      value = random.below(8) == 0 ? static_cast<std::uint32_t>(random.bits()) : random.below(36);
    return values;
  };
  const auto a = integers<std::uint32_t>(random), pos = small(), len = small();
  expect<std::uint32_t>(
      "bfe.u32 %d, %a, %b, %c;", [&](auto x, auto p, auto l) { return bfe(x, p, l, false); }, a, pos, len);
  expect<std::uint32_t>(
      "bfe.s32 %d, %a, %b, %c;", [&](auto x, auto p, auto l) { return bfe(x, p, l, true); }, a, pos, len);
  expect<std::uint32_t>(
      "bfi.b32 %d, %a, %b, %c, %e;",
      [](std::uint32_t x, std::uint32_t d, std::uint32_t p, std::uint32_t l) {
        p &= 255;
        l &= 255;
        for (std::uint32_t i = 0; i < l && p + i <= 31; ++i)
          d = (d & ~(1u << (p + i))) | (x >> i & 1) << (p + i);
        return d;
      },
      a, integers<std::uint32_t>(random), pos, len);
}

TEST_CASE("lop3 is its truth table, prmt its selectors, shf a 64-bit shift") {
  Random random;
  INFO("seed " << random.seed);
  const auto a = integers<std::uint32_t>(random), b = integers<std::uint32_t>(random),
             c = integers<std::uint32_t>(random);
  for (const auto& [table, f] :
       std::vector<std::pair<int, std::uint32_t (*)(std::uint32_t, std::uint32_t, std::uint32_t)>>{
           {0x80, [](std::uint32_t x, std::uint32_t y, std::uint32_t z) { return x & y & z; }},
           {0xf8, [](std::uint32_t x, std::uint32_t y, std::uint32_t z) { return x | (y & z); }},
           {0x96, [](std::uint32_t x, std::uint32_t y, std::uint32_t z) { return x ^ y ^ z; }},
           {0xca, [](std::uint32_t x, std::uint32_t y, std::uint32_t z) { return (x & y) | (~x & z); }}}) {
    expect<std::uint32_t>("lop3.b32 %d, %a, %b, %c, " + std::to_string(table) + ";", f, a, b, c);
  }
  expect<std::uint32_t>(
      "prmt.b32 %d, %a, %b, %c;",
      [](std::uint32_t x, std::uint32_t y, std::uint32_t s) {
        std::uint8_t bytes[8];
        std::memcpy(bytes, &x, 4);
        std::memcpy(bytes + 4, &y, 4);
        std::uint32_t d = 0;
        for (int i = 0; i < 4; ++i, s >>= 4) {
          const auto byte = static_cast<std::int8_t>(bytes[s & 7]);
          d |= std::uint32_t{static_cast<std::uint8_t>((s & 8) != 0 ? byte >> 7 : byte)} << (8 * i);
        }
        return d;
      },
      a, b, c);
  expect<std::uint32_t>(
      "prmt.b32.rc16 %d, %a, %b, %c;",
      [](std::uint32_t x, std::uint32_t, std::uint32_t s) {
        const std::uint32_t half = (s & 1) != 0 ? x >> 16 : x & 0xffff;
        return half | half << 16;
      },
      a, b, c);
  expect<std::uint32_t>(
      "shf.l.wrap.b32 %d, %a, %b, %c;",
      [](std::uint32_t x, std::uint32_t y, std::uint32_t n) {
        return (n & 31) == 0 ? y : y << (n & 31) | x >> (32 - (n & 31));
      },
      a, b, c);
  expect<std::uint32_t>(
      "shf.r.clamp.b32 %d, %a, %b, %c;",
      [](std::uint32_t x, std::uint32_t y, std::uint32_t n) {
        return n == 0 ? x : n >= 32 ? y : x >> n | y << (32 - n);
      },
      a, b, c);
}

TEST_CASE("bits are counted and found") {
  Random random;
  INFO("seed " << random.seed);
  const auto a = integers<std::uint32_t>(random);
  const auto wide = integers<std::uint64_t>(random);
  expect<std::uint32_t>(
      "popc.b64 %d, %a;", [](std::uint64_t x) { return static_cast<std::uint32_t>(__builtin_popcountll(x)); },
      wide);
  expect<std::uint32_t>(
      "clz.b32 %d, %a;",
      [](std::uint32_t x) { return x == 0 ? 32u : static_cast<std::uint32_t>(__builtin_clz(x)); }, a);
  expect<std::uint32_t>(
      "brev.b32 %d, %a;",
      [](std::uint32_t x) {
        std::uint32_t d = 0;
        for (int i = 0; i < 32; ++i) d |= (x >> i & 1) << (31 - i);
        return d;
      },
      a);
  expect<std::uint32_t>(
      "bfind.s32 %d, %a;",
      [](std::uint32_t x) {
        const std::uint32_t magnitude = static_cast<std::int32_t>(x) < 0 ? ~x : x;
        for (int i = 31; i >= 0; --i)
          if ((magnitude >> i & 1) != 0) return static_cast<std::uint32_t>(i);
        return ~0u;
      },
      a);
}

TEST_CASE("logic works on predicates as on words") {
  Random random;
  INFO("seed " << random.seed);
  const auto a = integers<std::uint32_t>(random), b = integers<std::uint32_t>(random);
  const std::string predicates = ".reg .pred %p, %q; setp.lt.s32 %p, %a, 0; setp.gt.u32 %q, %b, 9;\n";
  const auto p = [](std::uint32_t x) { return static_cast<std::int32_t>(x) < 0; };
  const auto q = [](std::uint32_t x) { return x > 9; };
  expect<std::uint32_t>(
      predicates + "xor.pred %p, %p, %q; selp.b32 %d, 1, 0, %p;",
      [&](auto x, auto y) { return std::uint32_t{p(x) != q(y)}; }, a, b);
  expect<std::uint32_t>(
      predicates + "not.pred %q, %q; and.pred %p, %p, %q; selp.b32 %d, 1, 0, %p;",
      [&](auto x, auto y) { return std::uint32_t{p(x) && !q(y)}; }, a, b);
  expect<std::uint32_t>("or.b32 %d, %a, %b; not.b32 %d, %d;", [](auto x, auto y) { return ~(x | y); }, a, b);
  expect<std::uint32_t>("cnot.b32 %d, %a;", [](auto x) { return std::uint32_t{x == 0}; }, a);
}

}  // namespace ptxloom::exec::test::integer_test
