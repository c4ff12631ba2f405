// SPDX-License-Identifier: Apache-2.0
// Sums over a cluster are those of the host, bit for bit and in the same order.
#include "ptxloom/kit/cluster_reduction.hpp"

#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>

#include "kit/running.hpp"
#include "ptxloom/error.hpp"
#include "ptxloom/kit/params.hpp"

using namespace ptxloom;
using Catch::Matchers::ContainsSubstring;

namespace {

struct Summed {
  Type type;
  int blocks, threads, slices;
  int down, across, registers;  // of a thread: instructions, and registers of each
  std::size_t held() const { return static_cast<std::size_t>(down * across * registers); }
  std::size_t values() const { return held() * static_cast<std::size_t>(threads * blocks); }
};

kit::Accumulators load_accumulators(KernelBuilder& k, const Summed& c, Reg from) {
  kit::Accumulators all(static_cast<std::size_t>(c.down));
  int at = 0;
  for (auto& row : all)
    for (int j = 0; j < c.across; ++j) {
      auto& registers = row.emplace_back();
      for (int i = 0; i < c.registers; ++i)
        registers.push_back(k.load("global", c.type, k.at(from, c.type.bytes() * at++)));
    }
  return all;
}

/// [thread block][thread][register] of sums. A slice that a thread block does not store is as it was.
template <class T>
std::vector<T> summed(const Summed& c, std::vector<T> in, std::vector<T> out) {
  kit::Params params;
  params.pointer("in", c.type).pointer("out", c.type);
  KernelBuilder k = kit_test::builder();
  k.require_block(static_cast<std::uint32_t>(c.threads));
  k.require_cluster(static_cast<std::uint32_t>(c.blocks));
  const kit::ParamRegs regs = params.declare(k);
  const kit::ClusterTile tile{.type = c.type, .blocks = c.blocks, .threads = c.threads, .slices = c.slices};
  const int bytes = tile.shared_bytes(static_cast<int>(c.held()));
  const Reg shared = k.address_of(k.shared(b8, static_cast<std::uint64_t>(bytes), "partials", 16));
  const Reg thread = k.special("tid.x");
  const Reg first =
      k.mul(k.fma(k.special("ctaid.x"), c.threads, thread), static_cast<std::int64_t>(c.held()));
  const kit::Accumulators all = load_accumulators(k, c, k.mad_wide(first, c.type.bytes(), regs["in"]));
  kit::reduce_in_cluster(k, tile, all, {.shared = shared, .thread = thread, .barrier = 3},
                         [&](const kit::Accumulators& slice, int number) {
                           const int part = c.registers / c.slices;
                           for (std::size_t i = 0; i < slice.size(); ++i)
                             for (std::size_t j = 0; j < slice[i].size(); ++j)
                               for (std::size_t r = 0; r < slice[i][j].size(); ++r) {
                                 const auto place = static_cast<int>(
                                     (i * slice[i].size() + j) * static_cast<std::size_t>(c.registers) + r);
                                 k.store("global", c.type,
                                         k.at(k.mad_wide(first, c.type.bytes(), regs["out"]),
                                              c.type.bytes() * (place + number * part)),
                                         slice[i][j][r]);
                               }
                         });
  kit_test::run(k.finish(),
                {.grid = {static_cast<std::uint32_t>(c.blocks), 1, 1},
                 .block = {static_cast<std::uint32_t>(c.threads), 1, 1}},
                params.arguments(), {kit_test::tensor("in", in), kit_test::tensor("out", out)});
  return out;
}

template <class T>
void check_cluster_sums(const Summed& c) {
  std::vector<T> in(c.values()), out(c.values(), T(-77));
  for (T& value : in) value = static_cast<T>(kit_test::random_value(1000));
  const std::vector<T> sums = summed(c, in, out);
  const std::size_t of_block = c.held() * static_cast<std::size_t>(c.threads);
  const auto blocks = static_cast<std::size_t>(c.blocks);
  for (std::size_t block = 0; block < blocks; ++block)
    for (std::size_t i = 0; i < of_block; ++i) {
      const std::size_t slice =
          i % static_cast<std::size_t>(c.registers) / static_cast<std::size_t>(c.registers / c.slices);
      T expected = T(-77);
      if (slice == block) {
        expected = in[block * of_block + i];
        for (std::size_t other = 1; other < blocks; ++other)
          expected += in[(block + other) % blocks * of_block + i];
      }
      REQUIRE(sums[block * of_block + i] == expected);
    }
}

std::string refusal_of(kit::ClusterTile tile, int registers) {
  KernelBuilder k = kit_test::builder();
  const Reg any = k.mov(u32, 0);
  try {
    kit::reduce_in_cluster(k, tile, {{k.regs(tile.type, registers)}}, {any, any, 1},
                           [](const kit::Accumulators&, int) {});
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace

TEST_CASE("thread blocks of a cluster add up a tile, in slices or all of it") {
  check_cluster_sums<float>({f32, 2, 64, 2, 1, 3, 8});
  check_cluster_sums<float>({f32, 3, 96, 3, 2, 2, 6});
  check_cluster_sums<float>({f32, 3, 32, 1, 2, 1, 6});
  check_cluster_sums<float>({f32, 5, 32, 1, 1, 1, 64});  // more than it reads at once
  check_cluster_sums<std::int32_t>({s32, 4, 64, 4, 1, 2, 16});
  check_cluster_sums<double>({f64, 2, 64, 1, 3, 2, 2});
}

TEST_CASE("slices that cannot be moved are refused") {
  CHECK_THAT(refusal_of({f32, 4, 32, 2}, 16), ContainsSubstring("2 slices, 4 thread blocks"));
  CHECK_THAT(refusal_of({f32, 3, 32, 3}, 16),
             ContainsSubstring("16 registers of an instruction in 3 slices"));
  CHECK_THAT(refusal_of({f32, 2, 32, 2}, 4), ContainsSubstring("a multiple of 16 bytes"));
}
