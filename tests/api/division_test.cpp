// SPDX-License-Identifier: Apache-2.0
// Quotients and remainders by literals, which the builder makes of products and shifts, in the executor.
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <random>

#include "ptxloom/builder.hpp"
#include "ptxloom/context.hpp"
#include "ptxloom/kernel.hpp"

using namespace ptxloom;

namespace {

constexpr std::uint32_t kCount = 256;

std::vector<std::uint32_t> divisors() {
  std::vector<std::uint32_t> all;
  for (std::uint32_t d = 1; d <= 70; ++d) all.push_back(d);
  for (int bit = 7; bit < 32; ++bit)
    for (const int beside : {-1, 0, 1}) all.push_back((1U << bit) + static_cast<std::uint32_t>(beside));
  all.insert(all.end(), {641U, 0xffff'ffffU, 0xffff'fffeU, 0x8000'0001U});
  std::mt19937 random(Catch::getSeed());
  for (int i = 0; i < 60; ++i)
    all.push_back(1 + static_cast<std::uint32_t>(random()) % (1U << (random() % 32)));
  return all;
}

/// Around multiples of the divisor, where a reciprocal that is a little off shows.
std::vector<std::uint32_t> dividends(std::uint32_t divisor) {
  std::mt19937 random(Catch::getSeed() + divisor);
  std::vector<std::uint32_t> all = {0, 1, 0xffff'ffff, 0x7fff'ffff, 0x8000'0000, divisor, divisor - 1};
  const std::uint32_t largest = 0xffff'ffff / divisor * divisor;
  all.insert(all.end(), {largest, largest - 1});
  while (all.size() < kCount) {
    const std::uint32_t multiple = static_cast<std::uint32_t>(random()) / divisor * divisor;
    all.push_back(multiple + static_cast<std::uint32_t>(random() % 3) - 1);
  }
  return all;
}

}  // namespace

TEST_CASE("quotients and remainders by literals are exact") {
  const Context context({.device = "cpu"});
  for (const std::uint32_t divisor : divisors()) {
    KernelBuilder k(context, "divide", context.target());
    const Pointer in = k.pointer(u32, "n"), quotients = k.pointer(u32, "q"), remainders = k.pointer(u32, "r");
    const Reg i = k.global_thread_x(), n = k.load(in[i]);
    k.store(quotients[i], k.div(n, divisor));
    k.store(remainders[i], k.rem(n, divisor));
    k.ret();
    const Kernel kernel = context.load(k.finish());
    const std::vector<std::uint32_t> numbers = dividends(divisor);
    Buffer n_buffer = context.alloc(4 * kCount), q_buffer = context.alloc(4 * kCount),
           r_buffer = context.alloc(4 * kCount);
    n_buffer.copy_from(numbers);
    kernel.launch(nullptr, {.grid = {1}, .block = {kCount}}, {n_buffer, q_buffer, r_buffer});
    context.synchronize();
    std::vector<std::uint32_t> q(kCount), r(kCount);
    q_buffer.copy_to(q), r_buffer.copy_to(r);
    CAPTURE(divisor);
    for (std::size_t j = 0; j < kCount; ++j) {
      CAPTURE(numbers[j]);
      REQUIRE(q[j] == numbers[j] / divisor);
      REQUIRE(r[j] == numbers[j] % divisor);
    }
  }
}
