// SPDX-License-Identifier: Apache-2.0
// Shuffles, votes, reductions, barriers and approximations, in the executor, against C++.
#include <bit>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <random>
#include <tuple>

#include "builder/running.hpp"

namespace ptxloom::builder_test {
namespace {

/// What one warp makes of a word in each lane.
Words warp(const Words& in, const std::function<Reg(KernelBuilder&, Reg x, Reg lane)>& emit,
           const char* target = "sm_90a") {
  const auto kernel = [&](KernelBuilder& k, Pointer out, Pointer given) {
    const Reg lane = k.special("laneid");
    k.store(out[lane], emit(k, k.load(given[lane]), lane));
  };
  return run(kernel, 32, in, {.block = {32}}, target);
}

/// By lane.
Words each(const std::function<std::uint32_t(std::uint32_t lane)>& compute) {
  Words words;
  for (std::uint32_t lane = 0; lane < 32; ++lane) words.push_back(compute(lane));
  return words;
}

}  // namespace

TEST_CASE("shuffles take the value of another lane") {
  const Words in = random_words(32);
  INFO(Catch::getSeed());
  CHECK(warp(in, [](auto& k, Reg x, Reg) { return k.shuffle(x, 13); }) == each([&](auto) { return in[13]; }));
  CHECK(warp(in, [](auto& k, Reg x, Reg lane) { return k.shuffle(x, k.sub(31, lane)); }) ==
        each([&](auto lane) { return in[31 - lane]; }));
  CHECK(warp(in, [](auto& k, Reg x, Reg) { return k.shuffle_up(x, 3); }) ==
        each([&](auto lane) { return in[lane < 3 ? lane : lane - 3]; }));
  CHECK(warp(in, [](auto& k, Reg x, Reg) { return k.shuffle_down(x, 5); }) ==
        each([&](auto lane) { return in[lane + 5 > 31 ? lane : lane + 5]; }));
  CHECK(warp(in, [](auto& k, Reg x, Reg) { return k.shuffle_xor(x, 9); }) ==
        each([&](auto lane) { return in[lane ^ 9]; }));
  // 64 bits, in two halves
  CHECK(warp(in, [](auto& k, Reg x, Reg lane) {
          const Reg wide = k.or_(k.shl(k.convert(u64, x), 32), k.convert(u64, lane));
          const Reg other = k.shuffle_xor(wide, 6);
          return k.add(k.convert(u32, k.shr(other, 32)), k.convert(u32, other));
        }) == each([&](auto lane) { return in[lane ^ 6] + (lane ^ 6); }));
}

TEST_CASE("votes, matches and the elected lane") {
  const Words in = random_words(32, 3);
  INFO(Catch::getSeed());
  const auto lanes_of = [&](std::uint32_t value) {
    std::uint32_t mask = 0;
    for (std::uint32_t lane = 0; lane < 32; ++lane) mask |= in[lane] == value ? 1U << lane : 0;
    return mask;
  };
  const auto flag = [](KernelBuilder& k, Reg p) { return k.select(p, k.mov(u32, 1), 0); };
  CHECK(warp(in, [](auto& k, Reg x, Reg) { return k.ballot(k.eq(x, 1)); }) ==
        each([&](auto) { return lanes_of(1); }));
  CHECK(warp(in, [&](auto& k, Reg x, Reg) { return flag(k, k.vote_any(k.eq(x, 7))); }) ==
        each([](auto) { return 0U; }));
  CHECK(warp(in, [&](auto& k, Reg, Reg l) { return flag(k, k.vote_any(k.eq(l, 7))); }) ==
        each([](auto) { return 1U; }));
  CHECK(warp(in, [&](auto& k, Reg x, Reg) { return flag(k, k.vote_all(k.lt(x, 3))); }) ==
        each([](auto) { return 1U; }));
  CHECK(warp(in, [&](auto& k, Reg, Reg l) { return flag(k, k.vote_all(k.lt(l, 31))); }) ==
        each([](auto) { return 0U; }));
  CHECK(warp(in, [&](auto& k, Reg, Reg l) { return flag(k, k.vote_uni(k.lt(l, 31))); }) ==
        each([](auto) { return 0U; }));
  CHECK(warp(in, [&](auto& k, Reg, Reg l) { return flag(k, k.vote_uni(k.gt(l, 31))); }) ==
        each([](auto) { return 1U; }));
  CHECK(warp(in, [](auto& k, Reg x, Reg) { return k.match_any(x); }) ==
        each([&](auto lane) { return lanes_of(in[lane]); }));
  CHECK(warp(in, [](auto& k, Reg x, Reg) { return k.match_any(k.convert(u64, x)); }) ==
        each([&](auto lane) { return lanes_of(in[lane]); }));
  CHECK(warp(in, [](auto& k, Reg x, Reg) { return k.match_all(k.or_(x, 3)); }) ==
        each([](auto) { return ~0U; }));
  CHECK(warp(in, [](auto& k, Reg, Reg l) { return k.match_all(l); }) == each([](auto) { return 0U; }));
  const Words elected = warp(in, [&](auto& k, Reg, Reg) { return k.ballot(k.elect()); });
  CHECK(std::popcount(elected[0]) == 1);
  CHECK(warp(in, [](auto& k, Reg, Reg) { return k.active_mask(); }) == each([](auto) { return ~0U; }));
  // A part of the warp.
  const Words part = warp(in, [](auto& k, Reg x, Reg lane) {
    const Reg result = k.mov(u32, 0);
    k.if_(k.lt(lane, 8), [&] { k.set(result, k.ballot(k.eq(x, 1), 0xff)); });
    return result;
  });
  CHECK(part == each([&](auto lane) { return lane < 8 ? lanes_of(1) & 0xff : 0; }));
}

TEST_CASE("reductions over the warp") {
  const Words in = random_words(32);
  INFO(Catch::getSeed());
  const auto fold = [&](auto combine) {
    std::uint32_t all = in[0];
    for (std::size_t lane = 1; lane < 32; ++lane) all = combine(all, in[lane]);
    return Words(32, all);
  };
  using U = std::uint32_t;
  const auto less = [](U a, U b) { return static_cast<std::int32_t>(a) < static_cast<std::int32_t>(b); };
  CHECK(warp(in, [](auto& k, Reg x, Reg) { return k.redux_add(x); }) == fold([](U a, U b) { return a + b; }));
  CHECK(warp(in, [](auto& k, Reg x, Reg) { return k.redux_min(x); }) ==
        fold([](U a, U b) { return std::min(a, b); }));
  CHECK(warp(in, [](auto& k, Reg x, Reg) { return k.as(u32, k.redux_max(k.as(s32, x))); }) ==
        fold([&](U a, U b) { return less(a, b) ? b : a; }));
  CHECK(warp(in, [](auto& k, Reg x, Reg) { return k.redux_and(x); }) == fold([](U a, U b) { return a & b; }));
  CHECK(warp(in, [](auto& k, Reg x, Reg) { return k.redux_or(x); }) == fold([](U a, U b) { return a | b; }));
  CHECK(warp(in, [](auto& k, Reg x, Reg) { return k.redux_xor(x); }) == fold([](U a, U b) { return a ^ b; }));
}

TEST_CASE("approximations are close, and neg and abs exact") {
  std::mt19937 random(Catch::getSeed());
  std::uniform_real_distribution<float> uniform(0.1F, 3.0F);
  Words in(32);
  for (std::uint32_t& word : in) word = std::bit_cast<std::uint32_t>(uniform(random));
  using One = Reg (ArithmeticBuilder::*)(Arg, Caller);
  const std::tuple<const char*, One, double (*)(double)> functions[] = {
      {"exp2", &KernelBuilder::exp2, std::exp2},
      {"log2", &KernelBuilder::log2, std::log2},
      {"rcp", &KernelBuilder::rcp, [](double x) { return 1 / x; }},
      {"sqrt", &KernelBuilder::sqrt, std::sqrt},
      {"rsqrt", &KernelBuilder::rsqrt, [](double x) { return 1 / std::sqrt(x); }},
      {"sin", &KernelBuilder::sin, std::sin},
      {"cos", &KernelBuilder::cos, std::cos},
      {"tanh", &KernelBuilder::tanh, std::tanh},
      {"neg", &KernelBuilder::neg, [](double x) { return -x; }}};
  for (const auto& [name, emit, expected] : functions) {
    const Words out = warp(in, [&, emit = emit](auto& k, Reg x, Reg) {
      return k.bit_cast(u32, (k.*emit)(k.bit_cast(f32, x), Caller::current()));
    });
    for (std::size_t i = 0; i < 32; ++i) {
      const double wanted = expected(std::bit_cast<float>(in[i]));
      CAPTURE(name, std::bit_cast<float>(in[i]), Catch::getSeed());
      CHECK(std::abs(std::bit_cast<float>(out[i]) - wanted) < 1e-3);
    }
  }
  CHECK(warp(in, [](auto& k, Reg x, Reg) { return k.bit_cast(u32, k.abs(k.neg(k.bit_cast(f32, x)))); }) ==
        in);
  CHECK(warp(in, [](auto& k, Reg x, Reg) { return k.as(u32, k.abs(k.neg(k.as(s32, x)))); }) == in);
}

TEST_CASE("named barriers: one part of the thread block arrives, the other waits") {
  const auto kernel = [](KernelBuilder& k, Pointer out) {
    const Reg i = k.special("tid.x");
    const Shared tile = k.shared(u32, 64, "tile");
    k.if_(
        k.lt(i, 64),
        [&] {
          k.store(tile[i], k.mul(i, i));
          k.barrier_arrive(1, 128);
        },
        [&] {
          k.barrier(1, 128);
          k.store(out[k.sub(i, 64)], k.load(tile[k.sub(127, i)]));
        });
    k.warp_barrier();
  };
  const Words out = run(kernel, 64, {.block = {128}});
  for (std::uint32_t i = 0; i < 64; ++i) CHECK(out[i] == (63 - i) * (63 - i));
}

TEST_CASE("a cluster synchronises at its barrier") {
  const auto kernel = [](KernelBuilder& k, Pointer out) {
    k.require_cluster(2);
    const Reg block = k.special("ctaid.x");
    const Shared mine = k.shared(u32, 1, "mine");
    k.store(mine[0], k.add(block, 40));
    k.cluster_barrier();
    const Reg there =
        k.op("mapa.shared::cluster.u32", k.address_of(mine), k.xor_(k.special("cluster_ctarank"), 1));
    k.store(out[block], k.load("shared::cluster", u32, k.at(there)));
    k.cluster_barrier();
  };
  CHECK(run(kernel, 2, {.grid = {2}, .block = {1}}) == Words{41, 40});
}

}  // namespace ptxloom::builder_test
