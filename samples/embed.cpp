// SPDX-License-Identifier: Apache-2.0
// The library inside another program: options, the program's own log, errors, streams, a CUDA graph.
#include <fmt/format.h>

#include <mutex>
#include <ptxloom/ptxloom.hpp>
#include <thread>
#include <vector>

namespace pl = ptxloom;

namespace {

pl::Context make_context() {
  // README context {
  pl::ContextOptions options;
  options.device = "";  // the first GPU, else the executor; "gpu:1" and "cpu" are strict
  options.log = pl::Log(
      [](pl::LogLevel level, std::string_view message) {
        static std::mutex mutex;  // called by any thread
        const std::scoped_lock lock(mutex);
        fmt::print("[{}] {}\n", pl::name(level), message);
      },
      pl::LogLevel::warning);
  const pl::Context ctx(options);
  // }
  return ctx;
}

bool show_error(const pl::Context& ctx) {
  // README errors {
  try {
    pl::gemm(ctx, {.m = 64, .n = 64, .k = 64, .a = pl::f16, .d = pl::f64});
  } catch (const pl::Error& error) {
    for (const pl::Diagnostic& diagnostic : error.diagnostics())
      fmt::print("{}: {}\n  {}\n", diagnostic.code, diagnostic.message, diagnostic.hint);
    return error.kind() == pl::ErrorKind::usage;
  }
  // }
  return false;
}

/// A product with its own buffers for the operands.
struct Product {
  pl::Gemm gemm;
  pl::Buffer a, b, d;
};

Product make_product(const pl::Context& ctx) {
  pl::Buffer a = ctx.alloc(2 * 64 * 64), b = ctx.alloc(2 * 64 * 64), d = ctx.alloc(4 * 64 * 64);
  a.copy_from(std::vector<std::uint16_t>(64 * 64, 0x3c00));  // 1.0
  b.copy_from(std::vector<std::uint16_t>(64 * 64, 0x4000));  // 2.0
  return {.gemm = pl::gemm(ctx, {.m = 64, .n = 64, .k = 64, .a = pl::f16, .d = pl::f32}),
          .a = std::move(a),
          .b = std::move(b),
          .d = std::move(d)};
}

bool is_right(const pl::Buffer& d) {
  std::vector<float> values(64 * 64);
  d.copy_to(values);
  for (const float value : values) {
    if (value != 128) return false;
  }
  return true;
}

bool launch_from_threads(const pl::Context& ctx) {
  std::vector<Product> products;
  for (int i = 0; i < 2; ++i) products.push_back(make_product(ctx));
  // README threads {
  // One Gemm, two threads, an output each; on a GPU a stream each.
  const pl::Gemm& gemm = products[0].gemm;
  const auto work = [&](const Product& product) {
    std::optional<pl::Stream> stream;
    if (ctx.is_gpu()) stream.emplace(ctx);
    CUstream_st* const queue = stream ? static_cast<CUstream_st*>(*stream) : nullptr;
    gemm.launch(queue, {.a = product.a, .b = product.b, .d = product.d});
    ctx.synchronize(queue);
  };
  std::thread other(work, std::cref(products[1]));
  work(products[0]);
  other.join();
  // }
  return is_right(products[0].d) && is_right(products[1].d);
}

bool launch_other_sizes(const pl::Context& ctx) {
  const Product product = make_product(ctx);
  const auto &a = product.a, &b = product.b, &d = product.d;
  // README sizes {
  const pl::Gemm gemm = pl::gemm(ctx, {.m = 64, .n = 64, .k = 64, .a = pl::f16, .d = pl::f32});
  gemm.prepare({.m = 17});  // ahead of time, where the first launch must not wait
  gemm.launch(nullptr, {.a = a, .b = b, .d = d}, {.m = 17, .alpha = 0.5});
  // }
  ctx.synchronize();
  std::vector<float> values(64 * 64);
  d.copy_to(values);
  for (std::size_t i = 0; i < 17 * 64; ++i) {
    if (values[i] != 64) return false;
  }
  return true;
}

bool replay(const pl::Context& ctx) {
  if (!ctx.is_gpu()) return true;  // graphs are the driver's
  const Product product = make_product(ctx);
  // README graph {
  pl::Buffer workspace = ctx.alloc(product.gemm.workspace_bytes());  // of 0 bytes where none is needed
  workspace.fill(std::byte{0});
  const pl::Graph graph(ctx, [&](CUstream_st* stream) {
    product.gemm.launch(stream, {.a = product.a, .b = product.b, .d = product.d, .workspace = workspace});
  });
  const pl::Stream stream(ctx);
  for (int i = 0; i < 3; ++i) graph.launch(stream);
  stream.synchronize();
  // }
  return is_right(product.d);
}

}  // namespace

int main() {
  try {
    const pl::Context ctx = make_context();
    return show_error(ctx) && launch_from_threads(ctx) && launch_other_sizes(ctx) && replay(ctx) ? 0 : 1;
    // README exit_code {
  } catch (const pl::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return pl::exit_code(error.kind());  // 2 for bad usage or input, 3 for a missing component, else 1
  }
  // }
}
