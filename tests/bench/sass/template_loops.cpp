// SPDX-License-Identifier: Apache-2.0
// How well the issue model predicts the main loops of gemm's kernels: time a k-block, from two problems that
// differ in k alone, of one tile for each SM.
//
//   template_loops measure MEASURED.jsonl     needs a GPU of sm_90; a minute
//   template_loops score MEASURED.jsonl       needs nvJitLink; predicts the same kernels
//
// A warp after the kernels compares an SM's clock with the time, since what the driver reports is older:
// under a power limit the clock falls within milliseconds. Beside them it would keep a thread block of theirs
// from its SM.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/bench.hpp"
#include "ptxloom/context.hpp"
#include "ptxloom/launch.hpp"
#include "ptxloom/runner.hpp"
#include "ptxloom/templates.hpp"
#include "ptxloom/tune.hpp"
#include "sass/issue/issue_model.hpp"

using namespace ptxloom;

namespace {

struct Case {
  Settings problem, config;
  int tile_m, tile_n, tile_k;
};

/// One tile for each of 132 SMs.
Case case_of(const std::string& type, const std::string& strategy, int m, int n, int k, Settings more = {}) {
  more.insert({{"strategy", strategy},
               {"tile_m", std::to_string(m)},
               {"tile_n", std::to_string(n)},
               {"tile_k", std::to_string(k)}});
  return {{{"m", std::to_string(12 * m)}, {"n", std::to_string(11 * n)}, {"a", type}}, more, m, n, k};
}

std::vector<Case> cases() {
  return {case_of("bf16", "wgmma", 128, 256, 64),  case_of("f16", "wgmma", 128, 128, 64),
          case_of("e4m3", "wgmma", 128, 256, 128), case_of("tf32", "wgmma", 128, 128, 32),
          case_of("s8", "wgmma", 128, 128, 128),   case_of("f16", "mma", 128, 128, 32),
          case_of("bf16", "mma", 64, 128, 32),     case_of("s8", "mma", 128, 128, 64),
          case_of("tf32", "mma", 128, 128, 16),    case_of("f64", "mma", 64, 64, 16)};
}

constexpr int kBlocks[] = {64, 256};  // k-blocks of the two problems

Settings problem_of(const Case& one, int blocks) {
  Settings problem = one.problem;
  problem["k"] = std::to_string(blocks * one.tile_k);
  return problem;
}

constexpr const char* kClockPtx = R"(.version 7.8
.target sm_90
.address_size 64
.visible .entry clock(.param .u64 .ptr .global out, .param .u64 length) .maxntid 32, 1, 1
{
    .reg .pred %p0;
    .reg .b64 %out, %length, %time, %begin, %passed, %cycles, %first;
    ld.param.u64 %out, [out];
    ld.param.u64 %length, [length];
    mov.u64 %begin, %globaltimer;
    mov.u64 %first, %clock64;
loop:
    nanosleep.u32 1000;
    mov.u64 %time, %globaltimer;
    mov.u64 %cycles, %clock64;
    sub.u64 %passed, %time, %begin;
    setp.lt.u64 %p0, %passed, %length;
    @%p0 bra loop;
    sub.u64 %cycles, %cycles, %first;
    st.global.v2.b64 [%out], {%cycles, %passed};
    ret;
}
)";

/// The clock of an SM.
class ClockMeter {
 public:
  ClockMeter(const Context& context, const Stream& stream)
      : stream_(stream),
        out_(context.device_context(), 2 * sizeof(std::uint64_t)),
        module_(context.device_context(), context.linker().link(kClockPtx, {.target = "sm_90a"}).cubin),
        function_(module_.function("clock")) {}

  /// In Hz, once all before it on the stream is done.
  double measure() {
    constexpr std::uint64_t kNanoseconds = 100'000;
    function_.launch(stream_, {.grid = {1}, .block = {32}},
                     Arguments(function_.signature(), {Argument(out_), Argument(kNanoseconds)}));
    stream_.synchronize();
    std::array<std::uint64_t, 2> read{};
    out_.download(std::as_writable_bytes(std::span(read)));
    return 1e9 * static_cast<double>(read[0]) / static_cast<double>(read[1]);
  }

 private:
  const Stream& stream_;
  DeviceMemory out_;
  DeviceModule module_;
  Function function_;
};

/// Seconds of a launch, of many in a row, and the clock in Hz.
std::pair<double, double> time_of(const Context& context, const Case& one, int blocks) {
  const Template& gemm = gemm_template();
  const Specialised made = specialise(context, gemm, problem_of(one, blocks), one.config);
  std::map<std::string, DeviceMemory> tensors;
  for (const HostTensor& tensor : make_tensors(gemm, made.problem, {}, 1)) {
    DeviceMemory& memory = tensors[tensor.plan.name] =
        DeviceMemory(context.device_context(), tensor.bytes.size());
    memory.upload(tensor.bytes);
  }
  const LaunchPlan& plan = made.launches.front();
  tensors[std::string(kWorkspace)] = DeviceMemory(context.device_context(), plan.workspace_bytes + 256);
  tensors[std::string(kWorkspace)].fill(std::byte{0});
  const LaunchArguments arguments(
      plan, [&](std::string_view name) { return tensors.at(std::string(name)).address(); },
      [&](const TensorMap& map) { return context.encode(map); });
  const LaunchConfig config = launch_config_of(plan, context.device().sms);
  const Stream stream(context.device_context());
  const Event begin(context.device_context()), end(context.device_context());
  std::vector<double> seconds, clocks;
  ClockMeter meter(context, stream);
  for (int round = 0; round < 6; ++round) {
    constexpr int kLaunches = 200;
    begin.record(stream);
    for (int i = 0; i < kLaunches; ++i) made.kernels.front().launch(stream, config, arguments);
    end.record(stream);
    clocks.push_back(meter.measure());
    seconds.push_back(1e-3 * static_cast<double>(end.elapsed_ms(begin)) / kLaunches);
  }
  seconds.erase(seconds.begin());  // which warmed up
  clocks.erase(clocks.begin());
  return {bench::median(seconds), bench::median(clocks)};
}

/// With the values that the case leaves to the template, which another revision may choose otherwise.
Settings whole_config(const Case& one) {
  const Template& gemm = gemm_template();
  const Specs specs;
  const Target target("sm_90a");
  return gemm.config(specs, target, gemm.problem(problem_of(one, kBlocks[1])), one.config);
}

int measure(const std::string& file) {
  const Context context({.device = "gpu"});
  std::ofstream out(file);
  for (Case one : cases()) {
    one.config = whole_config(one);
    const auto [few, few_clock] = time_of(context, one, kBlocks[0]);
    const auto [more, clock] = time_of(context, one, kBlocks[1]);
    const double cycles = (more * clock - few * few_clock) / (kBlocks[1] - kBlocks[0]);
    const nlohmann::ordered_json line = {
        {"problem", one.problem}, {"config", one.config}, {"clock_mhz", clock / 1e6}, {"cycles", cycles}};
    out << line.dump() << std::endl;
  }
  return out ? 0 : 2;
}

/// Cycles of a k-block of one tile.
double predict(const Case& one, const Linker& linker, std::string& bound) {
  const Template& gemm = gemm_template();
  const auto specs = std::make_shared<const Specs>();
  const Target target("sm_90a");
  const Settings problem = gemm.problem(problem_of(one, kBlocks[1]));
  const Emitted emitted = gemm.emit(specs, target, problem, gemm.config(*specs, target, problem, one.config));
  const LinkResult linked = linker.link(print(emitted.module), {.target = "sm_90a"});
  const sass::CubinView view(linked.cubin, "gemm");
  const sass::Disassembly disassembly = sass::disassemble(linked.cubin);
  const LaunchPlan& plan = emitted.launches.front();
  const int warps = static_cast<int>(plan.block[0] * plan.block[1] * plan.block[2] + 31) / 32;
  const sass::IssueModel model =
      sass::issue_model(sass::list({.cubin = view, .name = "gemm", .disassembly = &disassembly}), view.chip(),
                        {.warps = warps, .block_warps = warps});
  const sass::LoopModel* const loop = model.functions.front().hottest();
  if (loop == nullptr || loop->operations == 0) return 0;
  bound = loop->bound;
  const double tile = 2.0 * one.tile_m * one.tile_n * one.tile_k;
  return loop->cycles * tile / (loop->operations * loop->warps);
}

Case case_in(const nlohmann::json& line) {
  const auto config = line.at("config").get<Settings>();
  const auto number = [&](const char* name) {
    return std::stoi(line.at("config").at(name).get<std::string>());
  };
  return {line.at("problem").get<Settings>(), config, number("tile_m"), number("tile_n"), number("tile_k")};
}

int score(const std::string& file) {
  const Linker linker{Libraries()};
  double sum = 0, worst = 0;
  std::size_t count = 0, partly = 0;
  fmt::print("{:36} {:>10} {:>10} {:>8}  {}\n", "kernel", "predicted", "measured", "error", "bound");
  bench::read_lines(file, [&](const nlohmann::json& line) {
    const Case one = case_in(line);
    const double measured = line.at("cycles");
    std::string bound;
    const double predicted = predict(one, linker, bound);
    const double error = predicted / measured - 1;
    ++count;
    partly += one.config == whole_config(one) ? 0 : 1;
    sum += std::abs(error);
    if (std::abs(error) > std::abs(worst)) worst = error;
    fmt::print("{:36} {:10.1f} {:10.1f} {:+7.1f}%  {}\n",
               fmt::format("{} {} {}x{}x{}", one.problem.at("a"), one.config.at("strategy"), one.tile_m,
                           one.tile_n, one.tile_k),
               predicted, measured, 100 * error, bound);
  });
  if (partly > 0)
    fmt::print(
        "{} lines have a part of the configuration, as revisions before 2026-11-28 wrote it: the rest is "
        "what "
        "this revision chooses, so that other kernels may be predicted than were measured\n",
        partly);
  fmt::print("mean absolute error {:.1f} %, worst {:+.1f} %, of {}\n",
             100 * sum / static_cast<double>(std::max<std::size_t>(count, 1)), 100 * worst, count);
  return count > 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string mode = argc == 3 ? argv[1] : "";
  if (mode == "measure") return measure(argv[2]);
  if (mode == "score") return score(argv[2]);
  fmt::print("template_loops measure|score MEASURED.jsonl\n");
  return 0;
} catch (const Error& error) {
  fmt::print(stderr, "{}\n", error.what());
  return error.kind() == ErrorKind::missing ? 0 : static_cast<int>(error.kind());  // ./dev bench runs it
}
