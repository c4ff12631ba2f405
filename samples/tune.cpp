// SPDX-License-Identifier: Apache-2.0
// Finds the fastest configuration of a GEMM on this GPU. The winner is kept as a record: from then on every
// program that asks for this problem on this kind of GPU gets it at once.
#include <fmt/format.h>

#include <ptxloom/ptxloom.hpp>

namespace pl = ptxloom;

namespace {

void tune() {
  // README tune {
  const pl::Context ctx({.device = "gpu"});
  pl::Gemm gemm = pl::gemm(ctx, {.m = 1000, .n = 1000, .k = 1000, .a = pl::bf16});
  const pl::TuneResult result = gemm.tune({.seconds = 10});
  fmt::print("{:.2f} us after {} candidates; kept in {}\n", result.record->time_us, result.search.evaluations,
             ctx.records().folder().string());
  // }
  for (const auto& [word, value] : gemm.config()) fmt::print("  {} = {}\n", word, value);
}

}  // namespace

int main() {
  try {
    tune();
  } catch (const pl::Error& error) {
    fmt::print("{}\n", error.what());
    // Without a GPU there is nothing to measure.
    return error.kind() == pl::ErrorKind::missing ? 0 : pl::exit_code(error.kind());
  }
}
