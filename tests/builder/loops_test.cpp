// SPDX-License-Identifier: Apache-2.0
// Loops, break_ and continue_, against the same loops of C++.
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <random>

#include "builder/running.hpp"

namespace ptxloom::builder_test {
namespace {

/// One thread, two words of input.
std::uint32_t one(const std::function<Reg(KernelBuilder&, Reg a, Reg b)>& emit, std::uint32_t a,
                  std::uint32_t b) {
  const auto kernel = [&](KernelBuilder& k, Pointer out, Pointer in) {
    k.store(out[0], emit(k, k.load(in[0]), k.load(in[1])));
  };
  return run(kernel, 1, Words{a, b}, {.block = {1}})[0];
}

std::mt19937 generator() { return std::mt19937(Catch::getSeed()); }

}  // namespace

TEST_CASE("while_ tests before each iteration") {
  const auto collatz = [](KernelBuilder& k, Reg a, Reg) {
    const Reg n = k.mov(u32, a), steps = k.mov(u32, 0);
    k.while_([&] { return k.gt(n, 1); },
             [&] {
               k.if_(
                   k.eq(k.and_(n, 1), 0), [&] { k.set(n, k.shr(n, 1)); },
                   [&] { k.set(n, k.add(k.mul(n, 3), 1)); });
               k.set(steps, k.add(steps, 1));
             });
    return steps;
  };
  const auto expected = [](std::uint32_t n) {
    std::uint32_t steps = 0;
    for (; n > 1; ++steps) n = n % 2 == 0 ? n / 2 : 3 * n + 1;
    return steps;
  };
  auto random = generator();
  for (const std::uint32_t n : {0U, 1U, 2U, 27U, 1U + static_cast<std::uint32_t>(random() % 10000)}) {
    CAPTURE(n, Catch::getSeed());
    CHECK(one(collatz, n, 0) == expected(n));
  }
}

TEST_CASE("break_ leaves the innermost loop, continue_ ends its iteration") {
  // Sums i * j below n, without multiples of 3, until j exceeds i or the sum a limit.
  const auto kernel = [](KernelBuilder& k, Reg n, Reg limit) {
    const Reg sum = k.mov(u32, 0);
    k.for_(1, n, 1, [&](Reg i) {
      k.continue_if(k.eq(k.rem(i, 3), 0));
      const Reg j = k.mov(u32, 0);
      k.while_([&] { return k.lt(j, n); },
               [&] {
                 k.set(j, k.add(j, 1));
                 k.if_(k.eq(k.and_(j, 3), 2), [&] { k.continue_(); });
                 k.if_(k.gt(j, i), [&] { k.break_(); });
                 k.set(sum, k.add(sum, k.mul(i, j)));
               });
      k.break_if(k.gt(sum, limit));
    });
    return sum;
  };
  const auto expected = [](std::uint32_t n, std::uint32_t limit) {
    std::uint32_t sum = 0;
    for (std::uint32_t i = 1; i < n; ++i) {
      if (i % 3 == 0) continue;
      for (std::uint32_t j = 0; j < n;) {
        ++j;
        if (j % 4 == 2) continue;
        if (j > i) break;
        sum += i * j;
      }
      if (sum > limit) break;
    }
    return sum;
  };
  auto random = generator();
  for (int turn = 0; turn < 12; ++turn) {
    const auto n = static_cast<std::uint32_t>(random() % 30),
               limit = static_cast<std::uint32_t>(random() % 3000);
    CAPTURE(n, limit, Catch::getSeed());
    CHECK(one(kernel, n, limit) == expected(n, limit));
  }
}

TEST_CASE("break_ leaves do_while, and may be guarded") {
  const auto kernel = [](KernelBuilder& k, Reg n, Reg limit) {
    const Reg i = k.mov(u32, 0);
    k.do_while([&] {
      k.set(i, k.add(i, 1));
      k.guarded(k.eq(i, limit), [&] { k.break_(); });
      return k.lt(i, n);
    });
    return i;
  };
  CHECK(one(kernel, 9, 4) == 4);
  CHECK(one(kernel, 9, 40) == 9);
  CHECK(one(kernel, 0, 40) == 1);
}

TEST_CASE("unroll of a constant count emits each iteration, and supports break_ and continue_") {
  const auto kernel = [](KernelBuilder& k, Reg a, Reg b) {
    const Reg sum = k.mov(u32, 0);
    k.unroll(6, [&](int i) {
      k.continue_if(k.eq(a, i));
      k.break_if(k.eq(b, i));
      k.set(sum, k.add(sum, 1 << i));
    });
    return sum;
  };
  for (std::uint32_t a = 0; a < 8; ++a)
    for (std::uint32_t b = 0; b < 8; ++b) {
      std::uint32_t expected = 0;
      for (std::uint32_t i = 0; i < 6; ++i) {
        if (i == a) continue;
        if (i == b) break;
        expected += 1U << i;
      }
      CAPTURE(a, b);
      CHECK(one(kernel, a, b) == expected);
    }
}

TEST_CASE("an unrolled loop runs the same iterations as the rolled one, at every trip count") {
  for (const Type type : {u32, s32, u64, s64})
    for (const int factor : {1, 2, 3, 4, 8})
      for (const int step : {1, 3}) {
        const auto kernel = [&](KernelBuilder& k, Reg a, Reg b) {
          const auto as_type = [&](Reg x) {
            return type.bits == 32 ? k.as(type, x) : k.convert(type, k.as(type.is_signed() ? s32 : u32, x));
          };
          const Reg hash = k.mov(u32, 7);
          k.unroll(factor, as_type(a), as_type(b), step, [&](Reg i) {
            const Reg low = type.bits == 32 ? k.as(u32, i) : k.convert(u32, i);
            k.continue_if(k.eq(k.rem(low, 5), 4));
            k.set(hash, k.add(k.mul(hash, 31), low));
          });
          return hash;
        };
        const std::uint32_t start = type.is_signed() ? static_cast<std::uint32_t>(-3) : 2;
        for (std::uint32_t length : {0U, 1U, 2U, 3U, 4U, 5U, 7U, 8U, 9U, 11U, 16U, 25U}) {
          std::uint32_t hash = 7;
          for (std::uint32_t n = 0; n < length; n += static_cast<std::uint32_t>(step))
            if ((start + n) % 5 != 4) hash = hash * 31 + start + n;
          CAPTURE(type.name, factor, step, length);
          CHECK(one(kernel, start, start + length) == hash);
        }
      }
}

TEST_CASE("an unrolled loop reaches the ends of its type") {
  const auto turns = [](KernelBuilder& k, Reg a, Reg b) {
    const Reg count = k.mov(u32, 0);
    k.unroll(4, k.as(s32, a), k.as(s32, b), 1 << 28, [&](Reg) { k.set(count, k.add(count, 1)); });
    return count;
  };
  CHECK(one(turns, 0x8000'0000, 0x6000'0001) == 15);
  CHECK(one(turns, 0x6000'0001, 0x8000'0000) == 0);
}

}  // namespace ptxloom::builder_test
