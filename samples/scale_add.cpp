// SPDX-License-Identifier: Apache-2.0
// A kernel by hand: y = a * x + y, fused, on the GPU or in the executor, and compared with the host's own
// result.
#include <fmt/format.h>

#include <cmath>
#include <ptxloom/ptxloom.hpp>
#include <random>
#include <vector>

namespace pl = ptxloom;

namespace {

// README scale_add {
pl::ir::Module scale_add(const pl::Context& ctx) {
  pl::KernelBuilder k(ctx, "scale_add", pl::Target("sm_75"));
  auto n = k.param(pl::u32, "n");
  auto a = k.param(pl::f32, "a");
  auto x = k.pointer(pl::f32, "x"), y = k.pointer(pl::f32, "y");
  auto i = k.global_thread_x();
  k.if_(k.lt(i, n), [&] { k.store(y[i], k.fma(a, k.load(x[i]), k.load(y[i]))); });
  return k.finish();
}
// }

std::vector<float> random_vector(std::size_t n, std::mt19937& random) {
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(n);
  for (float& value : values) value = uniform(random);
  return values;
}

int run() {
  std::random_device seed;
  std::mt19937 random(seed());
  const std::vector<float> x = random_vector(1000, random), y = random_vector(1000, random);
  const float a = 1.25F;

  const pl::Context ctx;
  const pl::Kernel kernel = ctx.load(scale_add(ctx));
  pl::Buffer dx = ctx.alloc(4 * x.size()), dy = ctx.alloc(4 * y.size());
  dx.copy_from(x);
  dy.copy_from(y);
  kernel.launch(nullptr, {.grid = {8}, .block = {128}}, {1000U, a, dx, dy});
  ctx.synchronize();
  std::vector<float> result(y.size());
  dy.copy_to(result);

  std::size_t wrong = 0;
  for (std::size_t i = 0; i < y.size(); ++i) wrong += result[i] != std::fma(a, x[i], y[i]) ? 1U : 0U;
  fmt::print("{}\n{} of {} elements are wrong, on {}\n", kernel.ptx(), wrong, y.size(), ctx.device().name);
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
