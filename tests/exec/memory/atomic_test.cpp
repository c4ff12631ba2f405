// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "exec/harness.hpp"

namespace ptxloom::exec::test::atomic_test {
namespace {

using Reference = std::function<std::uint64_t(std::uint64_t old, std::uint64_t value)>;

template <class T, class F>
Reference integer(F f) {
  return [f](std::uint64_t old, std::uint64_t value) -> std::uint64_t {
    return static_cast<std::make_unsigned_t<T>>(f(static_cast<T>(old), static_cast<T>(value)));
  };
}

// f32 by the host; global memory loses subnormals, shared memory keeps them.
std::uint64_t add_f32(std::uint64_t old, std::uint64_t value, bool flush) {
  const auto read = [&](std::uint64_t bits) {
    const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    return flush && std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x;
  };
  volatile float sum = read(old) + read(value);
  float result = sum;
  if (flush && std::fpclassify(result) == FP_SUBNORMAL) result = std::copysign(0.0f, result);
  return result != result ? 0x7fff'ffffu : std::bit_cast<std::uint32_t>(result);
}

std::uint64_t add_f64(std::uint64_t old, std::uint64_t value) {
  return std::bit_cast<std::uint64_t>(std::bit_cast<double>(old) + std::bit_cast<double>(value));
}

// A sum of two values of 16 bits is exact in f64, or so far from a tie that rounding twice does not matter.
template <const Type& type>
std::uint64_t add_half(std::uint64_t old, std::uint64_t value) {
  return narrow::encode(type, narrow::decode(type, old) + narrow::decode(type, value));
}
template <const Type& type, bool is_min>
std::uint64_t choose_half(std::uint64_t old, std::uint64_t value) {
  const double a = narrow::decode(type, old), b = narrow::decode(type, value);
  if (a != a && b != b) return 0x7fff;
  if (a != a) return value;
  if (b != b) return old;
  if (a == b) return (std::signbit(a) == is_min) ? old : value;
  return (b < a) == is_min ? value : old;
}

Reference each_half(Reference f) {
  return [f](std::uint64_t old, std::uint64_t value) {
    return f(old & 0xffff, value & 0xffff) | f(old >> 16, value >> 16) << 16;
  };
}

struct Case {
  std::string words;  // ".op.type"
  std::size_t bytes;
  Reference global, shared;
};

Case same(std::string words, std::size_t bytes, Reference f) { return {std::move(words), bytes, f, f}; }

std::vector<Case> cases() {
  using U32 = std::uint32_t;
  using S32 = std::int32_t;
  using U64 = std::uint64_t;
  using S64 = std::int64_t;
  const auto least = [](auto a, auto b) { return b < a ? b : a; };
  const auto most = [](auto a, auto b) { return b > a ? b : a; };
  return {
      same("and.b32", 4, integer<U32>(std::bit_and<>())),
      same("or.b64", 8, integer<U64>(std::bit_or<>())),
      same("xor.b32", 4, integer<U32>(std::bit_xor<>())),
      same("add.u32", 4, integer<U32>(std::plus<>())),
      same("add.s32", 4, integer<U32>(std::plus<>())),
      same("add.u64", 8, integer<U64>(std::plus<>())),
      same("min.u32", 4, integer<U32>(least)),
      same("min.s32", 4, integer<S32>(least)),
      same("min.u64", 8, integer<U64>(least)),
      same("min.s64", 8, integer<S64>(least)),
      same("max.u32", 4, integer<U32>(most)),
      same("max.s32", 4, integer<S32>(most)),
      same("max.u64", 8, integer<U64>(most)),
      same("max.s64", 8, integer<S64>(most)),
      same("inc.u32", 4, integer<U32>([](U32 a, U32 b) { return a >= b ? 0 : a + 1; })),
      same("dec.u32", 4, integer<U32>([](U32 a, U32 b) { return a == 0 || a > b ? b : a - 1; })),
      {"add.f32", 4, [](U64 a, U64 b) { return add_f32(a, b, true); },
       [](U64 a, U64 b) { return add_f32(a, b, false); }},
      same("add.f64", 8, add_f64),
      same("add.noftz.f16", 2, add_half<f16>),
      same("add.noftz.bf16", 2, add_half<bf16>),
      same("add.noftz.f16x2", 4, each_half(add_half<f16>)),
      same("add.noftz.bf16x2", 4, each_half(add_half<bf16>)),
  };
}

constexpr std::size_t kCount = 1024;

/// Random bits, half of them near zero, near each other's, or special.
std::vector<std::uint64_t> values(Random& random, std::size_t bytes, bool is_f64) {
  static constexpr std::array<std::uint64_t, 12> special{0,           0x8000'8000, 1,           0x8000'0001,
                                                         0x0040'0001, 0x7f80'7f80, 0xff80'ff80, 0x7c00'fc00,
                                                         0x7fff'ffff, 0x0001'8001, 0x3f80'3c00, 0xffff'ffff};
  std::vector<std::uint64_t> all(kCount);
  for (std::uint64_t& value : all) {
    value = random.bits();
    if (random.below(4) == 0) value = special[random.below(12)] | special[random.below(12)] << 32;
    if (random.below(4) == 0) value >>= random.below(64);
    if (is_f64) value = std::bit_cast<std::uint64_t>(random.uniform(-4, 4));  // its NaNs have payloads
    if (bytes < 8) value &= (std::uint64_t{1} << 8 * bytes) - 1;
  }
  return all;
}

/// What is in memory, and what the instruction returned, after one atom of each thread on its own place.
struct Result {
  std::vector<std::uint64_t> memory, returned;
};

Result run_case(const std::string& words, std::size_t bytes, bool shared,
                const std::vector<std::uint64_t>& old, const std::vector<std::uint64_t>& value,
                const std::string& compare = {}) {
  const std::string type = ".b" + std::to_string(8 * bytes);
  const std::string body =
      ".reg .u64 %o, %a, %b, %r; .reg .u32 %t, %n, %c, %s; .reg " + type +
      " %v, %w, %d; .shared .align 8 .b64 sm[256]; mov.u32 %t, %tid.x; mov.u32 %n, %ntid.x; mov.u32 %c, "
      "%ctaid.x; mad.lo.u32 %t, %c, %n, %t;\n"
      "ld.param.u64 %a, [a]; ld.param.u64 %b, [b]; ld.param.u64 %r, [r]; mad.wide.u32 %a, %t, 8, %a; "
      "mad.wide.u32 %b, %t, 8, %b; mad.wide.u32 %r, %t, 8, %r;\n"
      "mov.u32 %s, sm; mov.u32 %t, %tid.x; mad.lo.u32 %s, %t, 8, %s; ld.global" +
      type + " %v, [%b];\n" +
      (shared ? "ld.global" + type + " %w, [%a]; st.shared" + type + " [%s], %w; atom.shared." + words +
                    " %d, [%s], " + compare + "%v; ld.shared" + type + " %w, [%s]; st.global" + type +
                    " [%a], %w;\n"
              : "atom." + words + " %d, [%a], " + compare + "%v;\n") +
      "st.global" + type + " [%r], %d;\n";
  const Program program = program_of(".param .u64 a, .param .u64 b, .param .u64 r", body, {}, "sm_100a");
  Memory memory;
  Result result{.memory = old, .returned = std::vector<std::uint64_t>(kCount)};
  std::vector<std::uint64_t> in = value;
  const auto parameters =
      pack({memory.map(result.memory.data(), kCount * 8, "a"), memory.map(in.data(), kCount * 8, "b"),
            memory.map(result.returned.data(), kCount * 8, "r")});
  program.run(memory, {.grid = {kCount / 256, 1, 1}, .block = {256, 1, 1}, .parameters = parameters});
  return result;
}

std::string kPointers =
    ".reg .u64 %out, %in; .reg .u32 %t, %x, %y; .reg .b32 %v<4>; .reg .b16 %h<8>; ld.param.u64 %out, [out]; "
    "ld.param.u64 %in, [in]; mov.u32 %t, %tid.x;\n";

}  // namespace

TEST_CASE("atom does its operation on global and shared memory and returns what was there") {
  Random random;
  INFO("seed " << random.seed);
  for (const Case& each : cases()) {
    const auto old = values(random, each.bytes, each.words == "add.f64");
    const auto value = values(random, each.bytes, each.words == "add.f64");
    for (const bool shared : {false, true}) {
      const Result got = run_case(each.words, each.bytes, shared, old, value);
      for (std::size_t i = 0; i < kCount; ++i) {
        const std::uint64_t expected = (shared ? each.shared : each.global)(old[i], value[i]);
        if (got.memory[i] == expected && got.returned[i] == old[i]) continue;
        CAPTURE(each.words, shared, i, old[i], value[i], got.memory[i], expected, got.returned[i]);
        FAIL_CHECK("wrong result");
        break;
      }
    }
  }
}

TEST_CASE("exch and cas of all widths") {
  Random random;
  INFO("seed " << random.seed);
  for (const std::size_t bytes : {std::size_t{2}, std::size_t{4}, std::size_t{8}}) {
    const std::string type = ".b" + std::to_string(8 * bytes);
    const auto old = values(random, bytes, false), value = values(random, bytes, false);
    for (const bool shared : {false, true}) {
      if (bytes != 2) {
        const Result swapped = run_case("exch" + type, bytes, shared, old, value);
        CHECK(swapped.memory == value);
        CHECK(swapped.returned == old);
      }
      const Result kept = run_case("cas" + type, bytes, shared, old, value, "1, ");
      for (std::size_t i = 0; i < kCount; ++i) {
        CAPTURE(bytes, shared, i);
        REQUIRE(kept.memory[i] == (old[i] == 1 ? value[i] : old[i]));
        REQUIRE(kept.returned[i] == old[i]);
      }
      CHECK(std::ranges::count(old, 1u) > 0);
    }
  }
}

TEST_CASE("exch and cas of 128 bits compare and write all of them") {
  const Program program = program_of(
      kOutIn, kPointers +
                  ".reg .b64 %q<2>; .reg .b128 %a, %b, %d; ld.global.v2.b64 {%q0, %q1}, [%in]; mov.b128 %a, "
                  "{%q0, %q1}; mov.b128 %b, {%q1, %q0};\n"
                  "atom.global.exch.b128 %d, [%out], %a; st.global.b128 [%out+16], %d;\n"
                  "atom.global.cas.b128 %d, [%out], %b, %b; st.global.b128 [%out+32], %d; ld.global.b128 %d, "
                  "[%out]; st.global.b128 [%out+48], %d;\n"
                  "atom.global.cas.b128 %d, [%out], %a, %b;\n");
  const auto out = run<std::uint64_t>(program, 1, 8, std::vector<std::uint64_t>{5, 6});
  constexpr std::uint64_t poison = 0xa5a5'a5a5'a5a5'a5a5;
  CHECK(out == std::vector<std::uint64_t>{6, 5, poison, poison, 5, 6, 5, 6});
}

TEST_CASE("lanes on one place come one after the other, lowest first") {
  const Program program = program_of(
      kOutIn, kPointers +
                  "atom.global.add.u32 %x, [%in], %t; mad.wide.u32 %out, %t, 4, %out; st.global.u32 [%out], "
                  "%x; red.global.max.u32 [%in+4], %t; red.global.inc.u32 [%in+8], 5;\n");
  std::vector<std::uint32_t> in{100, 0, 0};
  Memory memory;
  std::vector<std::uint32_t> out(32);
  const auto parameters = pack({memory.map(out.data(), 128), memory.map(in.data(), 12)});
  program.run(memory, {.block = {32, 1, 1}, .parameters = parameters});
  std::uint32_t sum = 100;
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    CHECK(out[lane] == sum);
    sum += lane;
  }
  CHECK(in == std::vector<std::uint32_t>{sum, 31, 32 % 6});
}

TEST_CASE("vectors are changed element by element") {
  const auto changed = [](const std::string& statements, std::vector<std::uint32_t> in) {
    const Program program = program_of(kOutIn, kPointers + statements, {}, "sm_100a");
    Memory memory;
    std::vector<std::uint32_t> out(4, 0xa5a5'a5a5);
    const auto parameters = pack({memory.map(out.data(), 16), memory.map(in.data(), in.size() * 4)});
    program.run(memory, {.parameters = parameters});
    in.insert(in.end(), out.begin(), out.end());
    return in;
  };
  const auto bits = [](float x) { return std::bit_cast<std::uint32_t>(x); };
  const std::uint32_t p = 0xa5a5'a5a5;
  CHECK(changed("mov.b32 %v0, 0f3F800000; atom.global.add.v2.f32 {%v2, %v3}, [%in], {%v0, %v0}; "
                "st.global.v2.b32 [%out], {%v2, %v3};",
                {bits(1.5f), 0x0000'0001}) ==
        std::vector<std::uint32_t>{bits(2.5f), bits(1), bits(1.5f), 0x0000'0001, p, p});
  // f16: 1 + 2, min(-0, +0), max(NaN, 2), add that overflows
  CHECK(changed("mov.b16 %h0, 0x4000; mov.b16 %h1, 0x0000; red.global.add.noftz.v2.f16 [%in], {%h0, %h1}; "
                "red.global.min.noftz.v2.f16 [%in+4], {%h0, %h1};",
                {0x8000'3c00, 0x8000'7e00}) ==
        std::vector<std::uint32_t>{0x0000'4200, 0x8000'4000, p, p, p, p});
  // bf16x2: max of each half
  CHECK(changed("mov.b32 %v0, 0x3f80bf80; red.global.max.noftz.v2.bf16x2 [%in], {%v0, %v0};",
                {0x4000'c000, 0x7fc0'ffc0}) ==
        std::vector<std::uint32_t>{0x4000'bf80, 0x3f80'bf80, p, p, p, p});
}

TEST_CASE("a generic address tells whether a sum of f32 keeps subnormals") {
  const Program program = program_of(
      kOutIn,
      kPointers +
          ".shared .align 8 .b32 s[2]; .reg .u64 %a; mov.b32 %v0, 0x00000003; st.shared.b32 [s], %v0; "
          "mov.u64 %a, s; cvta.shared.u64 %a, %a; red.add.f32 [%a], 0f00000000; ld.shared.b32 %v1, "
          "[s]; st.global.b32 [%out], %v0; red.add.f32 [%out], 0f00000000; st.global.b32 [%out+4], "
          "%v1;\n");
  CHECK(run<std::uint32_t>(program, 1, 2) == std::vector<std::uint32_t>{0, 3});
}

TEST_CASE("misuse of an atomic operation is a fault") {
  const auto code = [](const std::string& statements) {
    const Program program = program_of(kOutIn, kPointers + ".local .align 8 .b32 l[2]; " + statements);
    return fault_of([&] { run<std::uint32_t>(program, 1, 4, std::vector<std::uint32_t>(4)); }).code;
  };
  CHECK(code("atom.global.add.u32 %x, [%in+2], 1;") == "misaligned");
  CHECK(code("atom.global.add.u32 %x, [%in+16], 1;") == "out-of-bounds");
  CHECK(code("red.global.add.v2.f32 [%in+4], {%v0, %v1};") == "misaligned");
  CHECK(code("mov.u64 %in, l; cvta.local.u64 %in, %in; atom.add.u32 %x, [%in], 1;") == "atomic-space");
}

}  // namespace ptxloom::exec::test::atomic_test
