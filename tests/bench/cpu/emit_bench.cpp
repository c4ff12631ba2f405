// SPDX-License-Identifier: Apache-2.0
// How long from a problem to PTX: IR build, check and print of the largest gemm kernel. Claim: under 1 ms,
// median.
#include <fmt/format.h>

#include "bench/bench.hpp"
#include "ptxloom/check.hpp"

using namespace ptxloom;
using namespace ptxloom::bench;

namespace {

void measure(const std::shared_ptr<const Specs>& specs, const Target& target, const Settings& words) {
  const LargestKernel choice = largest(specs, target, words);
  std::vector<double> builds, checks, prints, totals;
  for (int i = 0; i < 300; ++i) {
    Emitted emitted;
    std::string ptx;
    builds.push_back(milliseconds_of(
        [&] { emitted = gemm_template().emit(specs, target, choice.problem, choice.config); }));
    checks.push_back(milliseconds_of([&] {
      if (!check(emitted.module).empty()) throw std::runtime_error("the kernel is illegal");
    }));
    prints.push_back(milliseconds_of([&] { ptx = print(emitted.module); }));
    totals.push_back(builds.back() + checks.back() + prints.back());
  }
  const double total = median(totals);
  fmt::print(
      "{:<5} {:>6} instructions: build {:.3f}, check {:.3f}, print {:.3f}, in all {:.3f} ms; of the 1 ms "
      "claimed: {:.2f}\n",
      choice.problem.at("a"), choice.instructions, median(builds), median(checks), median(prints), total,
      total);
}

}  // namespace

int main() {
  const auto specs = std::make_shared<const Specs>();
  const Target target("sm_90a");
  for (const char* a : {"bf16", "s8", "tf32", "f64"}) {
    measure(specs, target, {{"m", "4096"}, {"n", "4096"}, {"k", "4096"}, {"a", a}});
  }
}
