// SPDX-License-Identifier: Apache-2.0
// Time to machine code: our gemm (build, print, nvJitLink) against NVRTC compiling a hand-written CUDA C++
// kernel of the same tiles, pipeline and instructions. Both have the sizes baked in, and another K each time,
// so that no cache knows them. Claim: at least 3 times faster for the 64 x 64 tile.
#include <fmt/format.h>

#include <cstdlib>

#include "base/file.hpp"
#include "bench/bench.hpp"
#include "ptxloom/jit.hpp"
#include "support/folders.hpp"

using namespace ptxloom;
using namespace ptxloom::bench;

namespace {

constexpr const char* kTarget = "sm_90a";

struct Tile {
  int m, n, k, warps_m, warps_n, stages;
};

struct Times {
  std::vector<double> wall, cpu;

  void measure(const auto& work) {
    double milliseconds = 0;
    cpu.push_back(cpu_milliseconds_of([&] { milliseconds = milliseconds_of(work); }));
    wall.push_back(milliseconds);
  }
};

std::string our_ptx(const std::shared_ptr<const Specs>& specs, const Tile& tile, int k) {
  const Template& gemm = gemm_template();
  const Target target(kTarget);
  const Settings problem =
      gemm.problem({{"m", "4096"}, {"n", "4096"}, {"k", std::to_string(k)}, {"a", "f16"}});
  const auto word = [](int value) { return std::to_string(value); };
  const Settings config = gemm.config(*specs, target, problem,
                                      {{"tile_m", word(tile.m)},
                                       {"tile_n", word(tile.n)},
                                       {"tile_k", word(tile.k)},
                                       {"warps_m", word(tile.warps_m)},
                                       {"warps_n", word(tile.warps_n)},
                                       {"stages", word(tile.stages)},
                                       {"static", "mnk"}});
  return print(gemm.emit(specs, target, problem, config).module);
}

CompileOptions nvrtc_options(const Libraries& libraries, const Tile& tile, int k) {
  CompileOptions options{.target = kTarget, .output = CompileOptions::Output::cubin, .name = "gemm.cu"};
  for (const auto& folder : libraries.include_folders()) options.include_folders.push_back(folder.string());
  const std::pair<const char*, int> defines[] = {
      {"SIZE_M", 4096},          {"SIZE_N", 4096},          {"SIZE_K", k},
      {"TILE_M", tile.m},        {"TILE_N", tile.n},        {"TILE_K", tile.k},
      {"WARPS_M", tile.warps_m}, {"WARPS_N", tile.warps_n}, {"STAGES", tile.stages}};
  for (const auto& [name, value] : defines) options.extra.push_back(fmt::format("-D{}={}", name, value));
  return options;
}

void compare(const char* what, const std::shared_ptr<const Specs>& specs, const Tile& tile, int rounds) {
  const Libraries libraries;
  const Linker linker(libraries);
  const NvrtcCompiler compiler(libraries);
  const std::string source = read_file(test::source_folder() + "/tests/bench/cpu/gemm.cu");
  Times ours, nvrtc;
  for (int round = 0; round <= rounds; ++round) {
    if (round == 1) ours = nvrtc = {};  // in the first the libraries start up
    const int k = 1024 + tile.k * round;
    ours.measure([&] { linker.link(our_ptx(specs, tile, k), {.target = kTarget}); });
    nvrtc.measure([&] { compiler.compile(source, nvrtc_options(libraries, tile, k)); });
  }
  const double wall = median(ours.wall), nvrtc_wall = median(nvrtc.wall);
  const double cpu = median(ours.cpu), nvrtc_cpu = median(nvrtc.cpu);
  fmt::print(
      "{} ({} x {} x {}, {} warps, {} stages): ours {:.1f} ms, NVRTC {:.1f} ms, {:.2f} times faster ({:.2f} "
      "by CPU time)\n",
      what, tile.m, tile.n, tile.k, tile.warps_m * tile.warps_n, tile.stages, wall, nvrtc_wall,
      nvrtc_wall / wall, nvrtc_cpu / cpu);
}

}  // namespace

int main() {
  ::setenv("CUDA_CACHE_DISABLE", "1", 1);
  try {
    const auto specs = std::make_shared<const Specs>();
    compare("64 x 64 tile", specs, {.m = 64, .n = 64, .k = 64, .warps_m = 2, .warps_n = 2, .stages = 4}, 16);
    compare("the largest kernel", specs,
            {.m = 256, .n = 128, .k = 64, .warps_m = 4, .warps_n = 2, .stages = 4}, 6);
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return static_cast<int>(error.kind());
  }
}
