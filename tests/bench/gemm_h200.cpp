// SPDX-License-Identifier: Apache-2.0
// gemm on the GPU at hand, in one run: the rate of mma.sync on registers alone, the rate of our gemm at
// 4096^3 beside it, and correctness for the shapes people use and odd ones, of every type. Prints markdown.
// Claim (H200, bf16 and f16): at least 75 % of the register-only rate.
//   gemm_h200 [--quick] [--seconds N]     --quick: no shapes of more than 2^28 elements; N: to tune each,
//   default 20
#include <fmt/format.h>

#include <cstring>
#include <string_view>

#include "bench.hpp"
#include "ptxloom/builder.hpp"

using namespace ptxloom;
using namespace ptxloom::bench;

namespace {

struct Options {
  bool quick = false;
  double seconds = 20;
};

struct Shape {
  std::uint64_t m, n, k;
};

constexpr Shape kShapes[] = {
    {4096, 4096, 4096},  {8192, 8192, 8192}, {2048, 2048, 16384}, {4096, 14336, 4096}, {4096, 4096, 14336},
    {512, 5120, 5120},   {128, 24576, 1536}, {128, 7168, 2048},   {64, 8192, 8192},    {16, 28672, 8192},
    {16, 4096, 4096},    {1000, 1000, 1000}, {4097, 4099, 4100},  {256, 256, 65536},   {1, 6144, 4096},
    {64, 4096, 14336},   {16, 57344, 8192},  {2048, 10240, 8192}, {128, 2112, 7168},   {128, 32768, 512},
    {4096, 7168, 16384}, {1, 5120, 2880},    {2048, 2880, 4096},  {2048, 5760, 2880},  {17, 4104, 4160},
    {4097, 7168, 7296},  {1, 201088, 2880},  {1023, 1031, 1037},  {1, 1, 1},           {3, 5, 7},
};

Settings problem_of(const Shape& shape, std::string_view type) {
  return gemm_template().problem({{"m", std::to_string(shape.m)},
                                  {"n", std::to_string(shape.n)},
                                  {"k", std::to_string(shape.k)},
                                  {"a", std::string(type)}});
}

constexpr std::uint32_t kTurns = 2000, kMmas = 16;

/// `kMmas` independent products a turn, on registers that nothing else touches.
ir::Module rate_kernel(const Context& ctx, Type type) {
  KernelBuilder k(ctx, "rate", ctx.target());
  const Variant mma = ctx.specs().select(
      "mma.sync", {{"shape", "m16n8k16"}, {"a", type.name}, {"b", type.name}, {"d", "f32"}}, ctx.target());
  const Pointer out = k.pointer(f32, "out");
  const Reg thread = k.global_thread_x();
  // Random-looking operands of moderate size: zeros would draw less power than any real matrix.
  const auto operand = [&](const char* name, std::int64_t salt) {
    std::vector<Reg> registers;
    for (int i = 0; i < mma.operand(name).registers(); ++i) {
      const Reg mixed = k.mul(k.add(k.mov(u32, thread), salt + i), 0x9E3779B1);
      registers.push_back(k.or_(k.and_(KernelBuilder::as(b32, mixed), 0x07FF07FF), 0x30003000));
    }
    return registers;
  };
  std::vector<std::vector<Reg>> a, b, d;
  for (std::uint32_t i = 0; i < 4; ++i) {
    a.push_back(operand("A", 100 * i));
    b.push_back(operand("B", 1000 + 100 * i));
  }
  for (std::uint32_t i = 0; i < kMmas; ++i) {
    d.emplace_back();
    for (int r = 0; r < mma.operand("D").registers(); ++r) d.back().push_back(k.mov(f32, 0.0F));
  }
  k.for_(0, kTurns, 1, [&](Reg) {
    for (std::uint32_t i = 0; i < kMmas; ++i) k.emit(mma, d[i], a[i / 4], b[i % 4], d[i]);
  });
  Reg sum = k.mov(f32, 0.0F);
  for (const std::vector<Reg>& tile : d) {
    for (const Reg& value : tile) sum = k.add(sum, value);
  }
  k.store(out[thread], sum);
  return k.finish();
}

/// TFLOP/s of mma.sync with nothing but registers: the best of some numbers of warps.
double register_rate(const Context& ctx, Type type) {
  const Kernel kernel = ctx.load(rate_kernel(ctx, type));
  const auto blocks = static_cast<std::uint32_t>(ctx.device().sms);
  double best = 0;
  for (const std::uint32_t warps : {4U, 8U, 12U, 16U}) {
    const Buffer out = ctx.alloc(std::uint64_t{4} * blocks * 32 * warps);
    const Event start(ctx.device_context()), stop(ctx.device_context());
    const auto launch = [&] { kernel.launch(nullptr, {.grid = {blocks}, .block = {32 * warps}}, {out}); };
    std::vector<double> times;
    for (int i = 0; i < 12; ++i) {
      start.record(nullptr);
      launch();
      stop.record(nullptr);
      if (i >= 2) times.push_back(static_cast<double>(stop.elapsed_ms(start)));
    }
    const double operations = 2.0 * 16 * 8 * 16 * kMmas * kTurns * warps * blocks;
    best = std::max(best, operations / median(times) * 1e-9);
  }
  return best;
}

void print_rates(const Context& ctx, const Options& options) {
  fmt::print(
      "\n| type | register-only mma.sync | gemm 4096^3 | ratio | candidates | configuration "
      "|\n|---|---|---|---|---|---|\n");
  for (const Type type : {bf16, f16}) {
    const Settings problem = problem_of({4096, 4096, 4096}, type.name);
    const TuneResult tuned =
        tune_template(ctx, gemm_template(), {.problem = problem, .budget = {.seconds = options.seconds}});
    const double ceiling = register_rate(ctx, type);  // right after, at the same clock and temperature
    if (!tuned.record) {
      fmt::print("| {} | {:.0f} | no correct candidate | | {} | |\n", type.name, ceiling,
                 tuned.search.evaluations);
      continue;
    }
    const double rate = gemm_template().operations(problem) / tuned.record->time_us * 1e-6;
    std::string config;
    for (const auto& [word, value] : tuned.record->config)
      config += fmt::format("{}{}={}", config.empty() ? "" : " ", word, value);
    fmt::print("| {} | {:.0f} TFLOP/s | {:.0f} TFLOP/s | {:.1f} % | {} | {} |\n", type.name, ceiling, rate,
               100 * rate / ceiling, tuned.search.evaluations, config);
    std::fflush(stdout);
  }
}

/// True where all are correct.
bool print_correctness(const Context& ctx, const Options& options) {
  constexpr std::string_view kTypes[] = {"bf16", "f16", "tf32", "f64", "s8", "u8"};
  fmt::print(
      "\nElements compared with the definition, computed on the host; then the milliseconds of one cold "
      "launch.\n\n| M,N,K |");
  for (const std::string_view type : kTypes) fmt::print(" {} |", type);
  fmt::print("\n|---|---|---|---|---|---|---|\n");
  bool all = true;
  for (const Shape& shape : kShapes) {
    const std::uint64_t largest = std::max({shape.m * shape.n, shape.m * shape.k, shape.n * shape.k});
    if (options.quick && largest > std::uint64_t{1} << 28) continue;
    fmt::print("| {},{},{} |", shape.m, shape.n, shape.k);
    for (const std::string_view type : kTypes) {
      const RunResult result =
          run_template(ctx, gemm_template(), {.problem = problem_of(shape, type), .seed = 20 + shape.m});
      all = all && result.verdict.ok();
      if (result.verdict.ok())
        fmt::print(" {} ok, {:.2f} |", result.verdict.checked, result.run_ms);
      else
        fmt::print(" WRONG: {}, {} unwritten |", result.verdict.first, result.verdict.unwritten.size());
      std::fflush(stdout);
    }
    fmt::print("\n");
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--quick") == 0) options.quick = true;
    if (std::strcmp(argv[i], "--seconds") == 0 && i + 1 < argc) options.seconds = std::stod(argv[++i]);
  }
  try {
    const Context ctx({.device = "gpu"});
    fmt::print("{}, {}, ptxloom {}, nvJitLink {}\n", ctx.device().name, ctx.target().name(),
               library_version(), to_string(ctx.linker().version()));
    print_rates(ctx, options);
    const bool correct = print_correctness(ctx, options);
    fmt::print("\n{}\n", correct ? "all correct" : "some are WRONG");
    return correct ? 0 : 1;
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return error.kind() == ErrorKind::missing
               ? 0
               : static_cast<int>(error.kind());  // ./dev bench runs everywhere
  }
}
