// SPDX-License-Identifier: Apache-2.0
// Given configurations of gemm side by side on the GPU at hand, beside cuBLASLt in the same run: TFLOP/s of
// graph replays over rotating buffers of random data, the median of several, in turns.
//   gemm_configs [WORD=VALUE ...] [-- "WORD=VALUE ..." ...] [--beside WORD=VALUE ... -- ...]
// The words before -- are the problem's (without any: 4096^3 and 8192^3 in bf16); each text behind it is a
// configuration (without any: some of strategy wgmma), and words that it leaves out are chosen. Behind
// --beside comes another problem, in turns with the first: what cuBLASLt does not have is compared with that.
#include <fmt/format.h>

#include <sstream>

#include "bench/bench.hpp"
#include "ptxloom/runner.hpp"
#include "tune/worker/bench.hpp"

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
    const auto cubin = made.kernels.front().cubin();
    const auto resources = made.kernels.front().resources();
    if (resources) entry.remark = fmt::format("{} registers", resources->registers);
    for (const Diagnostic& one : made.kernels.front().diagnostics()) entry.remark += "; " + one.message;
    if (words.empty() || words == "strategy=mma") {
      entry.words = words.empty() ? "chosen:" : "";
      for (const auto& [name, value] : made.config) entry.words += fmt::format(" {}={}", name, value);
    }
    entry.loaded = bench.load({.ptx = {}, .cubin = {cubin.begin(), cubin.end()}, .launches = made.launches});
    bench.run(*entry.loaded);
  } catch (const Error& error) {
    entry.loaded.reset();
    entry.remark = error.what();
  }
  return entry;
}

/// A problem with its configurations, and cuBLASLt behind them where that has it.
class Comparison {
 public:
  Comparison(const Context& ctx, const Settings& words, const std::vector<std::string>& configs)
      : words_(words), problem_(gemm_template().problem(words)) {
    const Template& gemm = gemm_template();
    const tune::Task task{
        .tensors = make_tensors(gemm, problem_, {}, 1), .expected = {}, .product = gemm.product(problem_)};
    bench_ = tune::make_gpu_bench(ctx.device_context(), task);
    for (const std::string& config : configs) entries_.push_back(load(ctx, *bench_, problem_, config));
    try {
      tune::Bench::Vendor vendor = bench_->load_vendor();
      entries_.push_back(
          {.words = vendor.name, .remark = "best of its algorithms", .loaded = std::move(vendor.fastest)});
    } catch (const Error& error) {
      entries_.push_back({.words = "cuBLASLt", .remark = error.what()});
    }
  }

  void take_turn() {
    for (Entry& entry : entries_)
      if (entry.loaded) entry.us.push_back(bench_->time_us(*entry.loaded));
  }

  /// 0 where cuBLASLt does not have the problem.
  double vendor_us() const { return entries_.back().us.empty() ? 0 : median(entries_.back().us); }

  void print(double vendor_us) const {
    fmt::print("\n");
    for (const auto& [name, value] : words_) fmt::print("{}={} ", name, value);
    fmt::print("\n\n| TFLOP/s | us | of cuBLASLt | configuration | |\n|---|---|---|---|---|\n");
    for (const Entry& entry : entries_) {
      if (entry.us.empty()) {
        fmt::print("| - | - | - | {} | {} |\n", entry.words, entry.remark);
        continue;
      }
      const double us = median(entry.us);
      fmt::print("| {:.0f} | {:.2f} | {:.3f} | {} | {} |\n", gemm_template().operations(problem_) / us * 1e-6,
                 us, vendor_us / us, entry.words, entry.remark);
    }
    std::fflush(stdout);
  }

 private:
  Settings words_, problem_;
  std::unique_ptr<tune::Bench> bench_;
  std::vector<Entry> entries_;
};

struct Given {
  Settings problem;
  std::vector<std::string> configs;
};

void compare(const Context& ctx, const std::vector<Given>& all) {
  std::vector<Comparison> comparisons;
  for (const Given& given : all)
    comparisons.emplace_back(ctx, given.problem, given.configs.empty() ? kConfigs : given.configs);
  for (int turn = 0; turn < kTurns; ++turn)
    for (Comparison& one : comparisons) one.take_turn();
  double vendor_us = 0;
  for (const Comparison& one : comparisons) vendor_us = std::max(vendor_us, one.vendor_us());
  for (const Comparison& one : comparisons) one.print(one.vendor_us() > 0 ? one.vendor_us() : vendor_us);
}

std::vector<Given> read_arguments(int argc, char** argv) {
  std::vector<Given> all(1);
  bool of_configs = false;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--beside")
      all.emplace_back(), of_configs = false;
    else if (word == "--")
      of_configs = true;
    else if (of_configs)
      all.back().configs.push_back(word);
    else
      all.back().problem.merge(settings_of(word));
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::vector<Given> given = read_arguments(argc, argv);
    const Context ctx({.device = "gpu"});
    fmt::print("{}, {}, ptxloom {}, nvJitLink {}\n", ctx.device().name, ctx.target().name(),
               library_version(), to_string(ctx.linker().version()));
    if (!given.front().problem.empty()) return compare(ctx, given), 0;
    for (const char* size : {"4096", "8192"})
      for (const char* d : {"bf16", "f32"})
        compare(ctx,
                {{{{"m", size}, {"n", size}, {"k", size}, {"a", "bf16"}, {"d", d}}, given.front().configs}});
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return error.kind() == ErrorKind::missing ? 0 : static_cast<int>(error.kind());  // ./dev bench runs it
  }
}
