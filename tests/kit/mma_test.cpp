// SPDX-License-Identifier: Apache-2.0
// Products of a warp by mma.sync, from tiles in shared memory to elements of D.
#include "ptxloom/kit/mma.hpp"

#include <fmt/format.h>

#include "kit/running.hpp"
#include "ptxloom/error.hpp"
#include "ptxloom/kit/params.hpp"
#include "ptxloom/numeric.hpp"

using namespace ptxloom;

namespace {

struct WarpCase {
  const char* mma;
  Type type;
  bool a_along_k, b_along_k;
  int m, n, depth;
};

Variant mma_variant(const char* opcode) {
  const std::vector<Variant> found = kit_test::specs()->match(opcode);
  REQUIRE(!found.empty());
  return found.front();
}

/// Copies a tile as its rows are to its place in shared memory.
void fill(KernelBuilder& k, const kit::SwizzledTile& tile, Reg shared, Pointer from, Reg lane) {
  const int words = tile.row_bytes() / 4;
  k.for_(lane, tile.bytes() / 4, 32, [&](Reg word) {
    const Reg at = tile.address(k, k.div(word, words), k.mul(k.rem(word, words), 4));
    k.store("shared", u32, k.at(k.add(shared, at)), k.load(from[word]));
  });
}

ir::Module product_kernel(const WarpCase& c, const kit::Params& params) {
  const Variant mma = mma_variant(c.mma);
  KernelBuilder k = kit_test::builder("sm_90");
  k.require_block(32);
  const kit::ParamRegs in = params.declare(k);
  const Reg lane = k.special("tid.x"), zero = k.mov(u32, 0);
  const kit::SwizzledTile tile_a = kit::fragment_tile(c.type, c.a_along_k, c.m, c.depth),
                          tile_b = kit::fragment_tile(c.type, c.b_along_k, c.n, c.depth);
  const auto memory = [&](const kit::SwizzledTile& tile, const char* name) {
    return k.address_of(k.shared(b8, static_cast<std::uint64_t>(tile.bytes()), name, 128));
  };
  const Reg at_a = memory(tile_a, "tile_a"), at_b = memory(tile_b, "tile_b");
  fill(k, tile_a, at_a, in.pointer("a"), lane);
  fill(k, tile_b, at_b, in.pointer("b"), lane);
  k.barrier();
  // guide mma {
  kit::Fragments a(k, {mma, "A", c.type, c.a_along_k, c.m}, tile_a, {at_a, zero, lane});
  kit::Fragments b(k, {mma, "B", c.type, c.b_along_k, c.n}, tile_b, {at_b, zero, lane});
  const kit::Fragments::Tiles of_a = a.allocate(), of_b = b.allocate();
  kit::MmaTiles products(k, mma, c.m, c.n);
  const kit::Accumulators accumulators = products.zeros();
  a.set_stage(zero);
  b.set_stage(zero);
  for (int step = 0; step < c.depth / layout(mma, "A").cols; ++step) {
    a.load(step, of_a);
    b.load(step, of_b);
    products.multiply(of_a, of_b, accumulators);
  }
  // }
  const kit::FragmentOrder rows = kit::fragment_order(c.type, c.a_along_k),
                           columns = kit::fragment_order(c.type, c.b_along_k);
  const Reg row = k.mul(k.shr(lane, 2), rows.step()), column = k.mul(k.and_(lane, 3), 2 * columns.step());
  const Layout map = layout(mma, "D");
  const std::vector<kit::AccumulatorPlace> places = kit::accumulator_places(mma);
  for (std::size_t i = 0; i < accumulators.size(); ++i)
    for (std::size_t j = 0; j < accumulators[i].size(); ++j)
      for (std::size_t reg = 0; reg < accumulators[i][j].size(); ++reg) {
        const int pair = places[reg].column % 2;
        const int y = rows.origin(static_cast<int>(i) * map.rows + places[reg].row);
        const int x = columns.origin(static_cast<int>(j) * map.cols + places[reg].column - pair) +
                      pair * columns.step();
        k.store(in.pointer("d")[k.fma(k.add(row, y), c.n, k.add(column, x))], accumulators[i][j][reg]);
      }
  return k.finish();
}

template <class Sum>
void check_product(const WarpCase& c) {
  INFO(fmt::format("{}, {} and {}, {} x {} x {}, seed {}", c.mma, c.a_along_k ? "along k" : "across k",
                   c.b_along_k ? "along k" : "across k", c.m, c.n, c.depth, Catch::getSeed()));
  kit::Params params;
  params.pointer("a", u32).pointer("b", u32).pointer("d", type_of<Sum>());
  const auto matrix = [&](int extent) {
    std::vector<std::byte> data(static_cast<std::size_t>(extent * c.depth * c.type.bytes()));
    for (std::size_t i = 0; i < static_cast<std::size_t>(extent * c.depth); ++i)
      store_element(c.type, data, i, encode(c.type, static_cast<int>(kit_test::random_word() % 17) - 8));
    return data;
  };
  const auto element = [&](const std::vector<std::byte>& data, bool along_k, int extent, int i, int l) {
    const auto at = static_cast<std::size_t>(along_k ? i * c.depth + l : l * extent + i);
    return static_cast<double>(decode(c.type, load_element(c.type, data, at)));
  };
  std::vector<std::byte> a = matrix(c.m), b = matrix(c.n);
  std::vector<Sum> d(static_cast<std::size_t>(c.m * c.n), Sum{-123456});
  kit_test::run(product_kernel(c, params), {.block = {32, 1, 1}}, params.arguments(),
                {{"a", a}, {"b", b}, kit_test::tensor("d", d)});
  for (int i = 0; i < c.m; ++i)
    for (int j = 0; j < c.n; ++j) {
      double expected = 0;  // exact: integers
      for (int l = 0; l < c.depth; ++l)
        expected += element(a, c.a_along_k, c.m, i, l) * element(b, c.b_along_k, c.n, j, l);
      REQUIRE(static_cast<double>(d[static_cast<std::size_t>(i * c.n + j)]) == expected);
    }
}

}  // namespace

TEST_CASE("a warp multiplies tiles") {
  check_product<float>({"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", f16, true, true, 48, 24, 32});
  check_product<float>(
      {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", bf16, false, false, 32, 64, 48});
  check_product<float>({"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", tf32, false, true, 32, 8, 16});
  check_product<std::int32_t>(
      {"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", s8, false, true, 64, 40, 64});
  check_product<std::int32_t>(
      {"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", s8, true, false, 16, 64, 64});
  check_product<double>({"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", f64, true, false, 24, 16, 16});
}

TEST_CASE("a product of one k-step overwrites or adds") {
  kit::Params params;
  params.pointer("d", f32);
  const Variant mma = mma_variant("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32");
  KernelBuilder k = kit_test::builder("sm_80");
  k.require_block(32);
  const kit::ParamRegs in = params.declare(k);
  const Reg ones = k.mov(b32, 0x3c003c00);  // two halves of 1
  const kit::Fragments::Tiles a = {{ones, ones}}, b = {{ones}};
  kit::MmaTiles products(k, mma, 16, 8);
  const kit::Accumulators accumulators = products.zeros();
  products.multiply(a, b, accumulators);
  products.multiply(a, b, accumulators);  // 16
  const Reg twice = k.mov(f32, accumulators[0][0][3]);
  products.multiply(a, b, accumulators, true);  // 8
  const Reg at = k.mul(k.special("tid.x"), 2);
  k.store(in.pointer("d")[at], twice);
  k.store(in.pointer("d")[k.add(at, 1)], accumulators[0][0][0]);
  std::vector<float> d(64);
  kit_test::run(k.finish(), {.block = {32, 1, 1}}, params.arguments(), {kit_test::tensor("d", d)});
  for (std::size_t i = 0; i < 64; ++i) CHECK(d[i] == (i % 2 == 0 ? 16 : 8));
}

TEST_CASE("products that cannot be are refused") {
  KernelBuilder k = kit_test::builder("sm_80");
  const Variant mma = mma_variant("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32");
  CHECK_THROWS_AS(kit::MmaTiles(k, mma, 24, 8), Error);
  CHECK_THROWS_AS(kit::MmaTiles(k, mma, 16, 12), Error);
  CHECK_THROWS_AS(kit::MmaTiles(k, mma, 0, 8), Error);
  CHECK_THROWS_AS(kit::accumulator_places(mma_variant("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32")),
                  Error);
}
