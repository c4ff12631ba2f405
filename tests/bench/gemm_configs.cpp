// SPDX-License-Identifier: Apache-2.0
// Given configurations of gemm side by side on the GPU at hand, beside cuBLASLt in the same run: TFLOP/s of
// graph replays over rotating buffers of random data, the median of several, in turns.
//   gemm_configs [WORD=VALUE ...] [-- "WORD=VALUE ..." ...]
// The words before -- are the problem's (without any: 4096^3 and 8192^3 in bf16); each text behind it is a
// configuration (without any: some of strategy wgmma), and words that it leaves out are chosen.
#include <fmt/format.h>

#include <sstream>

#include "bench.hpp"
#include "ptxloom/runner.hpp"
#include "tune/bench.hpp"

using namespace ptxloom;
using namespace ptxloom::bench;

namespace {

constexpr int kTurns = 15;

const std::vector<std::string> kConfigs = {
    "tile_m=128 tile_n=256 warps_m=8 stages=4 raster=8",
    "tile_m=128 tile_n=256 warps_m=8 stages=4 raster=16",
    "tile_m=128 tile_n=256 warps_m=8 stages=4 raster=4",
    "tile_m=128 tile_n=256 warps_m=8 stages=3 raster=8",
    "tile_m=128 tile_n=256 warps_m=8 stages=2 tile_k=128 raster=8",
    "tile_m=128 tile_n=256 warps_m=8 stages=4 raster=8 static=none",
    "tile_m=128 tile_n=256 warps_m=8 stages=4 raster=8 epilogue=direct",
    "tile_m=128 tile_n=256 warps_m=4 warps_n=2 stages=4 raster=8",
    "tile_m=256 tile_n=128 warps_m=8 stages=4 raster=8",
    "tile_m=256 tile_n=128 warps_m=8 stages=4 raster=16",
    "tile_m=128 tile_n=192 warps_m=8 stages=5 raster=8",
    "tile_m=128 tile_n=192 warps_m=4 warps_n=1 stages=5 raster=8",
    "tile_m=128 tile_n=128 warps_m=8 stages=6 raster=8",
    "tile_m=128 tile_n=128 warps_m=4 warps_n=1 stages=3 raster=8",
    "tile_m=64 tile_n=256 warps_m=4 warps_n=1 stages=2 raster=8",
    "strategy=mma",
    "",
};

Settings settings_of(const std::string& text) {
  Settings settings;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const std::size_t sign = word.find('=');
    if (sign == std::string::npos)
      throw Error(ErrorKind::usage, "bad-usage", fmt::format("'{}' is no WORD=VALUE", word));
    settings[word.substr(0, sign)] = word.substr(sign + 1);
  }
  return settings;
}

struct Entry {
  std::string words, remark = {};
  std::unique_ptr<tune::Bench::Loaded> loaded = {};
  std::vector<double> us = {};
};

Entry load(const Context& ctx, tune::Bench& bench, const Settings& problem, const std::string& words) {
  Entry entry{.words = words};
  try {
    const Specialised made = specialise(ctx, gemm_template(), problem, settings_of(words));
    const auto cubin = made.kernel.cubin();
    const auto resources = made.kernel.resources();
    if (resources) entry.remark = fmt::format("{} registers", resources->registers);
    for (const Diagnostic& one : made.kernel.diagnostics()) entry.remark += "; " + one.message;
    if (words.empty() || words == "strategy=mma") {
      entry.words = words.empty() ? "chosen:" : "";
      for (const auto& [name, value] : made.config) entry.words += fmt::format(" {}={}", name, value);
    }
    entry.loaded = bench.load({.ptx = {}, .cubin = {cubin.begin(), cubin.end()}, .launches = {made.launch}});
    bench.run(*entry.loaded);
  } catch (const Error& error) {
    entry.loaded.reset();
    entry.remark = error.what();
  }
  return entry;
}

void compare(const Context& ctx, const Settings& words, const std::vector<std::string>& configs) {
  const Template& gemm = gemm_template();
  const Settings problem = gemm.problem(words);
  const tune::Task task{
      .tensors = make_tensors(gemm, problem, {}, 1), .expected = {}, .product = gemm.product(problem)};
  const auto bench = tune::make_gpu_bench(ctx.device_context(), task);
  std::vector<Entry> entries;
  for (const std::string& config : configs) entries.push_back(load(ctx, *bench, problem, config));
  try {
    tune::Bench::Vendor vendor = bench->load_vendor();
    entries.push_back(
        {.words = vendor.name, .remark = "best of its algorithms", .loaded = std::move(vendor.fastest)});
  } catch (const Error& error) {
    entries.push_back({.words = "cuBLASLt", .remark = error.what()});
  }
  for (int turn = 0; turn < kTurns; ++turn)
    for (Entry& entry : entries)
      if (entry.loaded) entry.us.push_back(bench->time_us(*entry.loaded));

  fmt::print("\n");
  for (const auto& [name, value] : words) fmt::print("{}={} ", name, value);
  fmt::print("\n\n| TFLOP/s | us | of cuBLASLt | configuration | |\n|---|---|---|---|---|\n");
  const double vendor_us = entries.back().us.empty() ? 0 : median(entries.back().us);
  for (const Entry& entry : entries) {
    if (entry.us.empty()) {
      fmt::print("| - | - | - | {} | {} |\n", entry.words, entry.remark);
      continue;
    }
    const double us = median(entry.us);
    fmt::print("| {:.0f} | {:.2f} | {:.3f} | {} | {} |\n", gemm.operations(problem) / us * 1e-6, us,
               vendor_us / us, entry.words, entry.remark);
  }
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  Settings problem;
  std::vector<std::string> configs;
  bool of_configs = false;
  try {
    for (int i = 1; i < argc; ++i) {
      if (std::string(argv[i]) == "--")
        of_configs = true;
      else if (of_configs)
        configs.emplace_back(argv[i]);
      else
        problem.merge(settings_of(argv[i]));
    }
    if (configs.empty()) configs = kConfigs;
    const Context ctx({.device = "gpu"});
    fmt::print("{}, {}, ptxloom {}, nvJitLink {}\n", ctx.device().name, ctx.target().name(),
               library_version(), to_string(ctx.linker().version()));
    if (!problem.empty()) return compare(ctx, problem, configs), 0;
    for (const char* size : {"4096", "8192"})
      for (const char* d : {"bf16", "f32"})
        compare(ctx, {{"m", size}, {"n", size}, {"k", size}, {"a", "bf16"}, {"d", d}}, configs);
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return error.kind() == ErrorKind::missing ? 0 : static_cast<int>(error.kind());  // ./dev bench runs it
  }
}
