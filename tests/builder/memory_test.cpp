// SPDX-License-Identifier: Apache-2.0
// Elements, vectors, constants and addresses, in the executor.
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <random>

#include "builder/running.hpp"

namespace ptxloom::builder_test {
TEST_CASE("elements of shared arrays are loaded and stored by registers and constants") {
  const Words in = random_words(64);
  for (const Type index : {u32, s32}) {
    const auto kernel = [&](KernelBuilder& k, Pointer out, Pointer given) {
      const Reg i = k.as(index, k.special("tid.x"));
      const Shared a = k.shared(u32, 64, "a"), bytes = k.dynamic_shared("bytes");
      const Shared b = bytes.as(u32, 16);
      k.store(a[i], k.load(given[i]));
      k.store(b[k.sub(63, i)], k.load(given[i]));
      k.barrier();
      k.store(out[i], k.load(a[k.sub(63, i)]));
      k.store(out[k.add(i, 64)], k.add(k.load(b[i]), k.load(a[5])));
    };
    const Words out = run(kernel, 128, in, {.block = {64}, .shared_bytes = 16 + 4 * 64});
    for (std::size_t i = 0; i < 64; ++i) {
      CAPTURE(i, index.name, Catch::getSeed());
      CHECK(out[i] == in[63 - i]);
      CHECK(out[64 + i] == in[63 - i] + in[5]);
    }
  }
}

TEST_CASE("vectors are loaded and stored, with literals and several registers") {
  const Words in = random_words(128);
  const auto kernel = [&](KernelBuilder& k, Pointer out, Pointer given) {
    const Reg i = k.mul(k.special("tid.x"), 4);
    const Shared tile = k.shared(u32, 128, "tile", 16);
    const std::vector<Reg> four = k.load(given[i], 4);
    k.store(tile[i], std::vector<Reg>{four[3], four[2], four[1], four[0]});
    const std::vector<Reg> two = k.load(tile[k.add(i, 2)], 2);
    k.store(out[i], Vector{two[0], two[1], 7, four[0]});
  };
  const Words out = run(kernel, 128, in, {.block = {32}});
  for (std::size_t i = 0; i < 128; i += 4) {
    CAPTURE(i, Catch::getSeed());
    CHECK(Words(out.begin() + static_cast<std::ptrdiff_t>(i),
                out.begin() + static_cast<std::ptrdiff_t>(i) + 4) == Words{in[i + 1], in[i], 7, in[i]});
  }
}

TEST_CASE("a sink in a vector discards an element") {
  const Words in = random_words(4);
  const auto kernel = [&](KernelBuilder& k, Pointer out, Pointer given) {
    const Reg third = k.reg(u32);
    k.emit("ld.global.v4.u32", Vector{_, _, third, _}, &given[0]);
    k.store(out[0], third);
  };
  CHECK(run(kernel, 1, in, {.block = {1}})[0] == in[2]);
}

TEST_CASE("the address of an element is valid in any instruction that takes one, also with an offset") {
  const Words in = random_words(40);
  const auto kernel = [&](KernelBuilder& k, Pointer out, Pointer given) {
    const Reg i = k.special("tid.x"), wide = k.convert(u64, i);
    const Shared sums = k.shared(u32, 2, "sums");
    k.if_(k.eq(i, 0), [&] { k.store(sums[0], Vector{0, 0}); });
    k.barrier();
    const Reg x = k.op("ld.global.nc.u32", &given[i]), y = k.op("ld.global.nc.u32", &given[wide] + 32);
    k.emit("red.shared.add.u32", &sums[k.and_(i, 1)], k.add(x, y));
    k.barrier();
    k.if_(k.lt(i, 2), [&] { k.store(out[i], k.load(sums[i])); });
  };
  std::uint32_t expected[2] = {0, 0};
  for (std::size_t i = 0; i < 32; ++i) expected[i % 2] += in[i] + in[i + 8];
  const Words out = run(kernel, 2, in, {.block = {32}});
  CHECK(out == Words{expected[0], expected[1]});
}

TEST_CASE("constants and globals of the module have their values, in every kernel and function") {
  KernelBuilder k(executor(), "first", Target("sm_80"));
  const Global table = k.constant("table", {11U, 22U, 33U, 44U});
  const std::vector<float> weights{0.5F, -2.0F};
  const Global weight = k.constant<float>("weight", weights);
  const Global counter = k.global("counter", {100U});
  const Global zeroed = k.variable("global", u32, 3, "zeroed");
  const Pointer out = k.pointer(u32, "out");
  const Reg i = k.special("tid.x");
  const Callee look_up = k.function(
      "look_up", {u32}, {u32}, [&](std::span<const Reg> n) { return std::vector<Reg>{k.load(table[n[0]])}; });
  k.store(out[i], k.call(look_up, {i})[0]);
  k.next_kernel("second");
  const Pointer other = k.pointer(u32, "out");
  const Reg j = k.special("tid.x");
  k.store(other[j], k.add(k.load(table[j]), k.load(table[3])));
  k.store(other[k.add(j, 4)], k.load(counter[0]));
  k.store(other[k.add(j, 8)], k.bit_cast(u32, k.load(weight[k.and_(j, 1)])));
  k.store(other[k.add(j, 12)], k.load(zeroed[k.rem(j, 3)]));
  k.store(counter[0], 5);
  const ir::Module module = k.finish();
  CHECK(run(module, 4, {.block = {4}}, nullptr, "first") == Words{11, 22, 33, 44});
  CHECK(run(module, 16, {.block = {4}}, nullptr, "second") == Words{55, 66, 77, 88, 100, 100, 100, 100,
                                                                    0x3f000000, 0xc0000000, 0x3f000000,
                                                                    0xc0000000, 0, 0, 0, 0});
}

TEST_CASE("functions take and return several registers, call each other's, and have registers of their own") {
  KernelBuilder k(executor(), "caller", Target("sm_80"));
  const Pointer out = k.pointer(u32, "out"), in = k.pointer(u32, "in");
  const Reg i = k.special("tid.x");
  const Callee divide = k.function("divide", {u32, u32}, {u32, u32}, [&](std::span<const Reg> x) {
    return std::vector<Reg>{k.div(x[0], x[1]), k.rem(x[0], x[1])};
  });
  const Callee clear = k.function("clear", {}, {u64}, [&](std::span<const Reg> x) {
    k.if_(k.eq(k.load("global", u32, k.at(x[0])), 7), [&] { k.ret(); });
    k.store("global", u32, k.at(x[0]), 0);
    return std::vector<Reg>{};
  });
  k.store(out[i], 1);
  k.call(clear, {out.base});
  const Reg divisor = k.add(i, 3);
  const std::vector<Reg> both = k.call(divide, {k.load(in[i]), divisor});
  k.store(out[i], k.add(k.mul(both[0], 1000), both[1]));
  k.store(out[k.add(i, 8)], k.call(divide, {both[0], 10})[1]);
  const ir::Module module = k.finish();
  const Words given = random_words(8);
  const Words result = run(module, 16, {.block = {8}}, &given);
  for (std::uint32_t n = 0; n < 8; ++n) {
    CAPTURE(n, Catch::getSeed());
    CHECK(result[n] == given[n] / (n + 3) * 1000 + given[n] % (n + 3));
    CHECK(result[n + 8] == given[n] / (n + 3) % 10);
  }
}

TEST_CASE("cp.async copies arrive, with zeros beyond the valid bytes") {
  const Words in = random_words(128);
  const auto kernel = [&](KernelBuilder& k, Pointer out, Pointer given) {
    const Reg i = k.special("tid.x"), j = k.mul(i, 4);
    const Shared tile = k.shared(u32, 128, "tile", 16);
    k.if_(
        k.lt(i, 16), [&] { k.cp_async(&tile[j], &given[j], 16); },
        [&] { k.cp_async(&tile[j], &given[j], 16, k.and_(i, 12)); });
    k.cp_async_commit();
    k.cp_async_wait();
    k.barrier();
    k.store(out[j], k.load(tile[j], 4));
  };
  const Words out = run(kernel, 128, in, {.block = {32}});
  for (std::uint32_t n = 0; n < 128; ++n) {
    const std::uint32_t thread = n / 4, valid = thread < 16 ? 16 : thread & 12;
    CAPTURE(n, Catch::getSeed());
    CHECK(out[n] == (n % 4 * 4 < valid ? in[n] : 0));
  }
}

TEST_CASE("mbarriers hand data from a producer to consumers, phase by phase") {
  for (const char* target : {"sm_80", "sm_90a"}) {
    const Words in = random_words(64);
    const auto kernel = [&](KernelBuilder& k, Pointer out, Pointer given) {
      const Reg i = k.special("tid.x");
      const Shared tile = k.shared(u32, 32, "tile"), full = k.mbarriers(2, "full");
      k.if_(k.eq(i, 0), [&] { k.unroll(2, [&](int b) { k.mbarrier_init(&full[b], 32); }); });
      k.barrier();
      k.for_(0, 2, 1, [&](Reg phase) {
        k.if_(k.lt(i, 32), [&] {
          k.store(tile[i], k.load(given[k.fma(phase, 32, k.as(s32, i))]));
          k.mbarrier_arrive(&full[0]);
        });
        k.mbarrier_wait(&full[0], k.as(u32, phase));
        const Reg value = k.load(tile[k.and_(k.add(i, 1), 31)]);
        k.store(out[k.fma(phase, 64, k.as(s32, i))], value);
        k.barrier();
      });
    };
    const Words out = run(kernel, 128, in, {.block = {64}}, target);
    for (std::size_t n = 0; n < 128; ++n) {
      CAPTURE(n, target, Catch::getSeed());
      CHECK(out[n] == in[n / 64 * 32 + (n + 1) % 32]);
    }
  }
}

TEST_CASE("an mbarrier waits for the bytes it expects, and for copies") {
  const Words in = random_words(32);
  const auto kernel = [&](KernelBuilder& k, Pointer out, Pointer given) {
    const Reg i = k.special("tid.x");
    const Shared tile = k.shared(u32, 64, "tile", 128), full = k.mbarriers(2, "full");
    k.if_(k.eq(i, 0), [&] {
      k.mbarrier_init(&full[0], 1);
      k.mbarrier_init(&full[1], 32);  // copies are counted as they come
    });
    k.barrier();
    k.if_(k.eq(i, 0), [&] {
      k.mbarrier_arrive_expect_tx(&full[0], 128);
      k.emit("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes", &tile[0], &given[0], 128,
             &full[0]);
    });
    k.cp_async(&tile[k.add(i, 32)], &given[i], 4);
    k.mbarrier_arrive_copies(&full[1]);
    k.mbarrier_arrive(&full[1]);
    k.mbarrier_wait(&full[0], 0);
    k.mbarrier_wait(&full[1], 0);
    k.store(out[i], k.add(k.load(tile[i]), k.load(tile[k.add(k.xor_(i, 1), 32)])));
    k.barrier();
    k.if_(k.eq(i, 0), [&] { k.mbarrier_invalidate(&full[1]); });
  };
  const Words out = run(kernel, 32, in, {.block = {32}});
  for (std::size_t n = 0; n < 32; ++n) {
    CAPTURE(n, Catch::getSeed());
    CHECK(out[n] == in[n] + in[n ^ 1]);
  }
}

}  // namespace ptxloom::builder_test
