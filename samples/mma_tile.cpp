// SPDX-License-Identifier: Apache-2.0
// One tile of a matrix product on tensor cores: D (16 x 8, f32) = A (16 x 16, f16) * B (16 x 8, f16), by one
// warp, with cp.async, ldmatrix and mma.sync; on the GPU or in the executor, and compared with the host's own
// result. docs/builder.md explains it beside samples/cuda/mma_tile.cu.
#include <fmt/format.h>

#include <cmath>
#include <ptxloom/ptxloom.hpp>
#include <random>
#include <vector>

namespace pl = ptxloom;

namespace {

// guide mma_tile {
/// A is row-major, B column-major, so that both are contiguous along k; D is row-major.
pl::ir::Module mma_tile(const pl::Context& ctx) {
  pl::KernelBuilder k(ctx, "mma_tile", pl::Target("sm_80"));
  k.require_block(32);
  auto a = k.pointer(pl::f16, "a"), b = k.pointer(pl::f16, "b");
  auto d = k.pointer(pl::f32, "d");
  auto tile_a = k.shared(pl::f16, 16 * 16, "tile_a", 16), tile_b = k.shared(pl::f16, 8 * 16, "tile_b", 16);
  auto lane = k.special("tid.x"), i = k.mul(lane, 8);
  k.cp_async(&tile_a[i], &a[i], 16);
  k.if_(k.lt(lane, 16), [&] { k.cp_async(&tile_b[i], &b[i], 16); });
  k.cp_async_commit();
  k.cp_async_wait();
  k.warp_barrier();

  // Each lane names a row of 8 values: of A in quadrants, of B in halves.
  auto at_a = k.fma(k.and_(lane, 15), 16, k.shl(k.shr(lane, 4), 3));
  auto at_b = k.fma(k.and_(lane, 7), 16, k.and_(lane, 8));
  auto x = k.ops("ldmatrix.sync.aligned.m8n8.x4.shared.b16", &tile_a[at_a]);
  auto y = k.ops("ldmatrix.sync.aligned.m8n8.x2.shared.b16", &tile_b[at_b]);
  const pl::Vector zero{0.0F, 0.0F, 0.0F, 0.0F};
  auto sums = k.ops("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", x, y, zero);
  auto at_d = k.mul(lane, 2);
  k.store(d[at_d], pl::Vector{sums[0], sums[1]});
  k.store(d[k.add(at_d, 64)], pl::Vector{sums[2], sums[3]});  // eight rows below
  return k.finish();
}
// }

int run() {
  std::random_device seed;
  std::mt19937 random(seed());
  // Multiples of 1/8 below 4: exact in f16, and so are the sums in f32.
  std::uniform_int_distribution<int> eighths(-31, 31);
  const auto draw = [&](std::size_t count) {
    std::vector<double> values(count);
    for (double& value : values) value = eighths(random) / 8.0;
    return values;
  };
  const auto bits = [](const std::vector<double>& values) {
    std::vector<std::uint16_t> made;
    for (const double value : values) made.push_back(static_cast<std::uint16_t>(pl::encode(pl::f16, value)));
    return made;
  };
  const std::vector<double> a = draw(16 * 16), b = draw(8 * 16);

  const pl::Context ctx;
  const pl::Kernel kernel = ctx.load(mma_tile(ctx));
  pl::Buffer da = ctx.alloc(2 * a.size()), db = ctx.alloc(2 * b.size()), dd = ctx.alloc(4 * 16 * 8);
  da.copy_from(bits(a));
  db.copy_from(bits(b));
  kernel.launch(nullptr, {.block = {32}}, {da, db, dd});
  ctx.synchronize();
  std::vector<float> result(16 * 8);
  dd.copy_to(result);

  std::size_t wrong = 0;
  for (std::size_t row = 0; row < 16; ++row)
    for (std::size_t column = 0; column < 8; ++column) {
      double sum = 0;
      for (std::size_t i = 0; i < 16; ++i) sum += a[row * 16 + i] * b[column * 16 + i];
      wrong += result[row * 8 + column] == sum ? 0U : 1U;
    }
  fmt::print("16 x 8 x 16: {} elements are wrong, on {}\n", wrong, ctx.device().name);
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const pl::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return pl::exit_code(error.kind());
  }
}
