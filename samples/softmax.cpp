// SPDX-License-Identifier: Apache-2.0
// The softmax of each row of a matrix, by warp shuffles and shared memory, on the GPU or in the executor, and
// compared with the host's own result. docs/builder.md explains it beside samples/cuda/softmax.cu.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <ptxloom/ptxloom.hpp>
#include <random>
#include <vector>

namespace pl = ptxloom;

namespace {

// guide softmax {
/// One thread block of 256 threads a row.
pl::ir::Module softmax(const pl::Context& ctx) {
  pl::KernelBuilder k(ctx, "softmax", pl::Target("sm_75"));
  k.require_block(256);
  auto columns = k.param(pl::u32, "columns");
  auto in = k.pointer(pl::f32, "in"), out = k.pointer(pl::f32, "out");
  auto partial = k.shared(pl::f32, 8, "partial");
  auto thread = k.special("tid.x"), warp = k.shr(thread, 5), lane = k.and_(thread, 31);
  auto row = k.mul(k.special("ctaid.x"), columns);

  auto reduce = [&](pl::Reg x, auto combine) {
    for (int apart : {16, 8, 4, 2, 1}) x = combine(x, k.shuffle_xor(x, apart));
    k.barrier();  // the last reduction has been read
    k.if_(k.eq(lane, 0), [&] { k.store(partial[warp], x); });
    k.barrier();
    x = k.load(partial[0]);
    k.unroll(7, [&](int i) { x = combine(x, k.load(partial[i + 1])); });
    return x;
  };
  auto top = k.mov(pl::f32, -std::numeric_limits<float>::infinity());
  k.for_(thread, columns, 256, [&](pl::Reg i) { k.set(top, k.max(top, k.load(in[k.add(row, i)]))); });
  top = reduce(top, [&](pl::Reg a, pl::Reg b) { return k.max(a, b); });

  auto power = [&](pl::Reg i) {
    return k.exp2(k.mul(k.sub(k.load(in[k.add(row, i)]), top), std::numbers::log2e_v<float>));
  };
  auto sum = k.mov(pl::f32, 0.0F);
  k.for_(thread, columns, 256, [&](pl::Reg i) { k.set(sum, k.add(sum, power(i))); });
  auto scale = k.rcp(reduce(sum, [&](pl::Reg a, pl::Reg b) { return k.add(a, b); }));
  k.for_(thread, columns, 256, [&](pl::Reg i) { k.store(out[k.add(row, i)], k.mul(power(i), scale)); });
  return k.finish();
}
// }

std::vector<double> host_softmax(const std::vector<float>& in, std::size_t rows, std::size_t columns) {
  std::vector<double> out(in.size());
  for (std::size_t r = 0; r < rows; ++r) {
    const float* row = &in[r * columns];
    const double top = *std::max_element(row, row + columns);
    double sum = 0;
    for (std::size_t c = 0; c < columns; ++c) sum += std::exp(row[c] - top);
    for (std::size_t c = 0; c < columns; ++c) out[r * columns + c] = std::exp(row[c] - top) / sum;
  }
  return out;
}

int run() {
  constexpr unsigned kRows = 5, kColumns = 777;
  std::random_device seed;
  std::mt19937 random(seed());
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> in(kRows * kColumns);
  for (float& value : in) value = normal(random);

  const pl::Context ctx;
  const pl::Kernel kernel = ctx.load(softmax(ctx));
  pl::Buffer din = ctx.alloc(4 * in.size()), dout = ctx.alloc(4 * in.size());
  din.copy_from(in);
  kernel.launch(nullptr, {.grid = {kRows}, .block = {256}}, {kColumns, din, dout});
  ctx.synchronize();
  std::vector<float> result(in.size());
  dout.copy_to(result);

  const std::vector<double> expected = host_softmax(in, kRows, kColumns);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < in.size(); ++i)
    wrong += std::abs(result[i] - expected[i]) <= 1e-5 * expected[i] ? 0U : 1U;
  fmt::print("{} x {}: {} elements are wrong, on {}\n", kRows, kColumns, wrong, ctx.device().name);
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
