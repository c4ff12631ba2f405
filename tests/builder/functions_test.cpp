// SPDX-License-Identifier: Apache-2.0
// Functions with several results of different sizes: what the executor computes, and that they link. One
// kernel calls each function twice, since results of different calls must not overwrite each other.
#include <algorithm>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstring>

#include "builder/running.hpp"
#include "ptxloom/check.hpp"
#include "ptxloom/ptx.hpp"
#include "support/require.hpp"

namespace ptxloom::builder_test {
namespace {

using Catch::Matchers::ContainsSubstring;
using Regs = std::vector<Reg>;

constexpr std::uint32_t kThreads = 8;
constexpr std::uint64_t kFactor = 0x1'0000'0003;

// Sizes rise and fall, so that the array has gaps.
const std::vector<Type> kMixed = {u16, f64, e4m3, u64, f32, bf16, b128, s32, u8};

// What `mixed` returns for x, each result as 64 bits, the one of 128 bits as two.
std::vector<std::uint64_t> expected_mixed(std::uint32_t x) {
  const std::uint64_t half = x & 0xffff, wide = x * kFactor;
  return {half, std::bit_cast<std::uint64_t>(x + 0.5), half, wide, x, half, wide, ~wide, ~x, x & 0xff};
}

Regs mixed_values(KernelBuilder& k, Reg x) {
  const Reg half = k.convert(u16, x), wide = k.mul(k.convert(u64, x), static_cast<std::int64_t>(kFactor));
  const Reg both = k.reg(b128);
  k.emit("mov.b128", both, Regs{wide, k.not_(wide)});
  return {half,
          k.add(k.convert(f64, x), 0.5),
          KernelBuilder::as(e4m3, half),
          wide,
          k.bit_cast(f32, x),
          KernelBuilder::as(bf16, half),
          both,
          k.bit_cast(s32, k.not_(x)),
          k.convert(u8, k.and_(x, 255))};
}

Reg widened(KernelBuilder& k, Reg result) {
  if (result.type.bits == 64) return k.bit_cast(u64, result);
  if (result.type.bits == 32) return k.convert(u64, k.bit_cast(u32, result));
  return k.convert(u64, KernelBuilder::as(u16, result));
}

// Writes all results for x and for x + 1, and for the pair (x + 1) / 3, (x + 1) % 3 of a function that calls
// another one.
ir::Module mixed(const char* target) {
  KernelBuilder k(executor(), "caller", Target(target));
  k.source_lines();
  const Pointer out = k.pointer(u64, "out"), in = k.pointer(u32, "in");
  const Reg i = k.special("tid.x"), x = k.load(in[i]);
  const Callee all = k.function("mixed", kMixed, {u32}, [&](auto a) { return mixed_values(k, a[0]); });
  const Callee divide = k.function("divide", {u32, u32}, {u32, u32},
                                   [&](auto a) { return Regs{k.div(a[0], a[1]), k.rem(a[0], a[1])}; });
  const Callee next = k.function("divide_next", {u64, u32}, {u32}, [&](auto a) {
    const Regs parts = k.call(divide, {k.add(a[0], 1), 3});
    return Regs{k.convert(u64, parts[0]), parts[1]};
  });
  const Regs first = k.call(all, {x}), second = k.call(all, {k.add(x, 1)}), third = k.call(next, {x});
  int row = 0;
  const auto put = [&](Reg value) { k.store(out[k.add(i, kThreads * static_cast<unsigned>(row++))], value); };
  for (const Regs& results : {first, second, third})
    for (const Reg& result : results) {
      if (result.type != b128) {
        put(widened(k, result));
        continue;
      }
      const Reg low = k.reg(u64), high = k.reg(u64);
      k.emit("mov.b128", Regs{low, high}, result);
      put(low), put(high);
    }
  return k.finish();
}

}  // namespace

TEST_CASE("a function returns results of all sizes") {
  const Words given = random_words(kThreads);
  constexpr std::size_t kRows = 22;
  const Words words = run(mixed("sm_80"), 2 * kRows * kThreads, {.block = {kThreads}}, &given);
  std::vector<std::uint64_t> results(words.size() / 2);
  std::memcpy(results.data(), words.data(), 4 * words.size());
  for (std::uint32_t i = 0; i < kThreads; ++i) {
    std::vector<std::uint64_t> expected = expected_mixed(given[i]), got;
    std::ranges::copy(expected_mixed(given[i] + 1), std::back_inserter(expected));
    expected.push_back((given[i] + 1) / 3), expected.push_back((given[i] + 1) % 3);
    for (std::size_t row = 0; row < kRows; ++row) got.push_back(results[row * kThreads + i]);
    CAPTURE(i, given[i], Catch::getSeed());
    CHECK(got == expected);
  }
}

TEST_CASE("a guarded call changes its results only in the threads whose guard holds") {
  const auto kernel = [](KernelBuilder& k, Pointer out, Pointer in) {
    const Reg i = k.special("tid.x"), x = k.load(in[i]), sum = k.mov(u32, 0);
    const Callee divide = k.function("divide", {u32, u32}, {u32, u32},
                                     [&](auto a) { return Regs{k.div(a[0], a[1]), k.rem(a[0], a[1])}; });
    // In the second iteration no thread calls, so the results are those of the first one.
    k.for_(0, 2, 1, [&](Reg turn) {
      Regs parts;
      k.guarded(k.eq(turn, 0), [&] { parts = k.call(divide, {x, 7}); });
      k.set(sum, k.add(k.mul(sum, 3), k.fma(parts[0], 10, parts[1])));
    });
    k.guarded(k.eq(k.and_(i, 1), 1), [&] { k.set(sum, k.call(divide, {x, 5})[1]); });
    k.store(out[i], sum);
  };
  const Words given = random_words(kThreads);
  const Words result = run(kernel, kThreads, given, {.block = {kThreads}});
  for (std::uint32_t i = 0; i < kThreads; ++i) {
    CAPTURE(i, given[i], Catch::getSeed());
    CHECK(result[i] == (i % 2 == 1 ? given[i] % 5 : (given[i] / 7 * 10 + given[i] % 7) * 4));
  }
}

TEST_CASE("a function with several results is legal, read back as it was printed, and linked") {
  const bool links = executor().libraries().has_nvjitlink();
  for (const char* target :
       {"sm_75", "sm_80", "sm_89", "sm_90a", "sm_100a", "sm_103a", "sm_120a", "sm_121a"}) {
    const ir::Module module = mixed(target);
    const std::string text = print(module);
    CAPTURE(target, text);
    for (const Diagnostic& found : check(module)) UNSCOPED_INFO(to_string(found));
    CHECK(check(module).empty());
    CHECK_THAT(text, ContainsSubstring(".func (.param .align 16 .b8 %results[80]) mixed"));
    const ParseResult read = parse(text, module.specs);
    CHECK(read.ok());
    CHECK(print(read.module) == text);
    if (!links) continue;
    const LinkResult linked = Linker(executor().libraries()).link(text, {.target = target});
    CHECK(linked.cubin.size() > 100);
  }
  if (!links) test::skip_without("nvjitlink", "nvJitLink is not installed");
}

}  // namespace ptxloom::builder_test
