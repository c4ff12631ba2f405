// SPDX-License-Identifier: Apache-2.0
// gemm on the GPU at hand, in one run: the rate of mma.sync on registers alone, the rate of our gemm at
// 4096^3 beside it, and correctness for the shapes people use and odd ones, of every type. Prints markdown.
// Claim (H200, bf16 and f16): at least 75 % of the register-only rate.
//   gemm_h200 [--quick] [--seconds N]     --quick: no shapes of more than 2^28 elements; N: to tune each,
//   default 20
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <string_view>
#include <thread>

#include "bench/bench.hpp"
#include "ptxloom/builder.hpp"
#include "ptxloom/tuner.hpp"
#include "tune/worker/bench.hpp"

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

/// mma.sync with nothing but registers, 16 warps on every SM.
class RegisterRate {
 public:
  RegisterRate(const Context& ctx, Type type)
      : kernel_(ctx.load(rate_kernel(ctx, type))),
        blocks_(static_cast<std::uint32_t>(ctx.device().sms)),
        out_(ctx.alloc(std::uint64_t{4} * blocks_ * kThreads)),
        stream_(ctx.device_context()),
        start_(ctx.device_context()),
        stop_(ctx.device_context()) {}

  /// TFLOP/s over about as long as a lap of the gemm takes.
  double measure() {
    constexpr int kLaunches = 8;
    start_.record(stream_);
    for (int i = 0; i < kLaunches; ++i)
      kernel_.launch(stream_, {.grid = {blocks_}, .block = {kThreads}}, {out_});
    stop_.record(stream_);
    const double operations = 2.0 * 16 * 8 * 16 * kMmas * kTurns * (kThreads / 32.0) * blocks_ * kLaunches;
    return operations / static_cast<double>(stop_.elapsed_ms(start_)) * 1e-9;
  }

 private:
  static constexpr std::uint32_t kThreads = 512;
  Kernel kernel_;
  std::uint32_t blocks_;
  Buffer out_;
  Stream stream_;
  Event start_, stop_;
};

struct Rates {
  std::vector<double> registers, gemm, clocks;  // TFLOP/s; MHz
};

/// Both rates in turns, so that clock, heat and power meet them alike.
Rates in_turns(const Context& ctx, RegisterRate& registers, tune::Bench& bench, tune::Bench::Loaded& lap,
               double operations, std::chrono::milliseconds pause) {
  Rates rates;
  for (int i = 0; i < 40; ++i) {
    rates.registers.push_back(registers.measure());
    std::this_thread::sleep_for(pause);
    rates.gemm.push_back(operations / bench.time_us(lap) * 1e-6);
    if (const auto health = ctx.device_context().health()) rates.clocks.push_back(health->clock_mhz);
    std::this_thread::sleep_for(pause);
  }
  return rates;
}

void print_rates_of(const Context& ctx, Type type, Type result, const Options& options) {
  const Template& gemm = gemm_template();
  Settings problem = problem_of({4096, 4096, 4096}, type.name);
  problem["d"] = problem["c"] = result.name;
  problem = gemm.problem(problem);
  const TuneResult tuned = tune_template(
      ctx, gemm,
      {.problem = problem, .config = {{"strategy", "mma"}}, .budget = {.seconds = options.seconds}});
  fmt::print("| {} | {} |", type.name, result.name);
  if (!tuned.record) {
    fmt::print(" no correct candidate | | | | | {} | |\n", tuned.search.evaluations);
    return;
  }
  const tune::Task task{.tensors = make_tensors(gemm, problem, {}, 1), .expected = {}};
  const auto bench = tune::make_gpu_bench(ctx.device_context(), task);
  const Specialised best = specialise(ctx, gemm, problem, tuned.record->config);
  const auto cubin = best.kernels.front().cubin();
  const auto lap = bench->load({.ptx = {}, .cubin = {cubin.begin(), cubin.end()}, .launches = best.launches});
  RegisterRate registers(ctx, type);
  for (const int pause_ms : {30, 0}) {
    const Rates rates =
        in_turns(ctx, registers, *bench, *lap, gemm.operations(problem), std::chrono::milliseconds(pause_ms));
    const double ceiling = median(rates.registers), rate = median(rates.gemm);
    fmt::print(" {:.0f}, {:.0f} TFLOP/s, {:.1f} % at {:.0f} MHz |", rate, ceiling, 100 * rate / ceiling,
               rates.clocks.empty() ? 0 : median(rates.clocks));
  }
  std::string config;
  for (const auto& [word, value] : best.config)
    config += fmt::format("{}{}={}", config.empty() ? "" : " ", word, value);
  fmt::print(" {} | {} |\n", tuned.search.evaluations, config);
  std::fflush(stdout);
}

void print_rates(const Context& ctx, const Options& options) {
  fmt::print(
      "\nTFLOP/s of gemm 4096^3, of register-only mma.sync, and their ratio, measured in turns: with pauses "
      "of 30 ms, and without.\n\n"
      "| A, B | D | with pauses | without | candidates | configuration |\n|---|---|---|---|---|---|\n");
  for (const Type type : {bf16, f16}) {
    print_rates_of(ctx, type, f32, options);
    print_rates_of(ctx, type, type, options);
  }
}

struct Cell {
  Shape shape;
  std::string_view type;
  std::string text = {};
  bool ok = false;
};

void check_cell(const Context& ctx, Cell& cell) {
  try {
    const RunResult result = run_template(
        ctx, gemm_template(), {.problem = problem_of(cell.shape, cell.type), .seed = 20 + cell.shape.m});
    cell.ok = result.verdict.ok();
    cell.text = cell.ok ? fmt::format("{} ok", result.verdict.checked)
                        : fmt::format("WRONG: {}, {} unwritten", result.verdict.first,
                                      result.verdict.unwritten.size());
  } catch (const Error& error) {
    cell.text = error.what();
  }
}

/// True where all are correct. The time goes into the definition on the host, so all its cores help.
bool print_correctness(const Context& ctx, const Options& options) {
  constexpr std::string_view kTypes[] = {"bf16", "f16", "tf32", "f64", "s8", "u8"};
  std::vector<Cell> cells;
  for (const Shape& shape : kShapes) {
    const std::uint64_t largest = std::max({shape.m * shape.n, shape.m * shape.k, shape.n * shape.k});
    if (options.quick && largest > std::uint64_t{1} << 28) continue;
    for (const std::string_view type : kTypes) cells.push_back({.shape = shape, .type = type});
  }
  std::atomic<std::size_t> next = 0;
  {
    std::vector<std::jthread> workers;
    for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i)
      workers.emplace_back([&] {
        for (std::size_t cell = next++; cell < cells.size(); cell = next++) check_cell(ctx, cells[cell]);
      });
  }
  fmt::print("\nElements compared with the definition, computed on the host.\n\n| M,N,K |");
  for (const std::string_view type : kTypes) fmt::print(" {} |", type);
  fmt::print("\n|---|---|---|---|---|---|---|");
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto& [m, n, k] = cells[i].shape;
    if (i % std::size(kTypes) == 0) fmt::print("\n| {},{},{} |", m, n, k);
    fmt::print(" {} |", cells[i].text);
  }
  fmt::print("\n");
  return std::ranges::all_of(cells, &Cell::ok);
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
