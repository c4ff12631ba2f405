// SPDX-License-Identifier: Apache-2.0
// A cache hit: from PTX text to a cubin's bytes. Claim: under 1 ms, median.
#include <fmt/format.h>

#include <filesystem>
#include <random>

#include "bench/bench.hpp"
#include "ptxloom/jit.hpp"

using namespace ptxloom;
using namespace ptxloom::bench;

int main() {
  const auto specs = std::make_shared<const Specs>();
  const Target target("sm_90a");
  const LargestKernel choice = largest(specs, target, {{"m", "4096"}, {"n", "4096"}, {"k", "4096"}});
  const std::string ptx = print(gemm_template().emit(specs, target, choice.problem, choice.config).module);
  const auto folder =
      std::filesystem::temp_directory_path() / fmt::format("ptxloom-bench-{:x}", std::random_device()());
  const Linker linker{Libraries(), Cache(folder)};
  LinkResult result;
  const double miss = milliseconds_of([&] { result = linker.link(ptx, {.target = "sm_90a"}); });
  std::vector<double> hits;
  for (int i = 0; i < 200; ++i) {
    hits.push_back(milliseconds_of([&] { result = linker.link(ptx, {.target = "sm_90a"}); }));
    if (!result.cached) return fmt::print(stderr, "that was no hit\n"), 1;
  }
  std::filesystem::remove_all(folder);
  const double hit = median(hits);
  fmt::print(
      "{} bytes of PTX, {} of machine code: linked in {:.1f} ms, from the cache in {:.3f} ms; of the 1 ms "
      "claimed: {:.3f}\n",
      ptx.size(), result.cubin.size(), miss, hit, hit);
}
