// SPDX-License-Identifier: Apache-2.0
// All steps from a spec to a running GEMM. For a few shapes and types, matrices are written to .npy files and
// read back; a kernel made for exactly this problem is chosen, checked, emitted and linked, on a GPU also
// tuned, then run and verified. Each step shows its time. Without a GPU the same kernels run in the CPU
// executor.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <ptxloom/ptxloom.hpp>
#include <random>
#include <string>
#include <vector>

namespace pl = ptxloom;
namespace fs = std::filesystem;

namespace {

struct Case {
  pl::GemmProblem cpu, gpu;
  const char* what;
};

std::vector<Case> cases() {
  return {
      {{.m = 64, .n = 96, .k = 128, .a = pl::bf16},
       {.m = 4096, .n = 4096, .k = 4096, .a = pl::bf16},
       "round sizes"},
      {{.m = 61, .n = 47, .k = 83, .a = pl::f16, .d = pl::f16},
       {.m = 4097, .n = 4099, .k = 4100, .a = pl::f16, .d = pl::f16},
       "odd sizes"},
      {{.m = 17, .n = 104, .k = 160, .a = pl::s8},
       {.m = 17, .n = 4104, .k = 4160, .a = pl::s8},
       "small M, exact integers"},
      {{.m = 33, .n = 31, .k = 37, .a = pl::tf32, .b_layout = pl::MatrixLayout::row},
       {.m = 1023, .n = 1031, .k = 1037, .a = pl::tf32, .b_layout = pl::MatrixLayout::row},
       "B row-major"},
      {{.m = 40, .n = 24, .k = 30, .a = pl::f64, .alpha = -0.5, .beta = 2},
       {.m = 1000, .n = 1000, .k = 1000, .a = pl::f64, .alpha = -0.5, .beta = 2},
       "D = -0.5 A B + 2 C"},
  };
}

double milliseconds_of(const auto& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

void say(double milliseconds, const std::string& step) {
  fmt::print("  {:9.3f} ms  {}\n", milliseconds, step);
}

/// Writes random matrices as numpy would, and reads them back.
std::vector<pl::HostTensor> matrices(const pl::Settings& problem, const fs::path& folder) {
  std::vector<pl::HostTensor> read;
  std::random_device seed;
  for (const pl::TensorPlan& plan : pl::gemm_template().tensors(problem)) {
    if (plan.role == pl::TensorPlan::Role::out) continue;
    const fs::path file = folder / (plan.name + ".npy");
    pl::write_npy(file, {.dtype = pl::npy_dtype(plan.type),
                         .shape = {plan.shape.begin(), plan.shape.end()},
                         .bytes = pl::random_tensor(plan, seed()).bytes});
    read.push_back({plan, pl::read_npy(file).bytes});
  }
  return read;
}

/// Whether a line of PTX multiplies matrices, by a warp or by a warpgroup.
bool multiplies(std::string_view line) {
  return line.find("mma.sync") != std::string_view::npos ||
         line.find("wgmma.mma_async") != std::string_view::npos;
}

/// The lines around the first matrix instruction.
void show_ptx(const std::string& ptx) {
  std::vector<std::string_view> lines;
  for (std::size_t at = 0; at < ptx.size();) {
    const std::size_t end = std::min(ptx.find('\n', at), ptx.size());
    lines.push_back(std::string_view(ptx).substr(at, end - at));
    at = end + 1;
  }
  const auto first = std::find_if(lines.begin(), lines.end(), multiplies);
  const auto begin = first - std::min<std::ptrdiff_t>(2, first - lines.begin());
  fmt::print("               {} lines of PTX, among them\n", lines.size());
  for (auto line = begin; line != lines.end() && line < first + 2; ++line)
    fmt::print("               |{}\n", *line);
}

/// On a GPU linking is part of loading; otherwise this shows that making machine code needs no GPU.
void show_link(const pl::Context& ctx, const pl::Kernel& kernel) {
  if (ctx.is_gpu()) {
    say(kernel.times().link, fmt::format("link: {} bytes of machine code for {}{}", kernel.cubin().size(),
                                         ctx.target().name(), kernel.cached() ? ", from the cache" : ""));
  } else if (ctx.libraries().has_nvjitlink()) {
    pl::LinkResult linked;
    const double took = milliseconds_of(
        [&] { linked = ctx.linker().link(kernel.ptx(), {.target = std::string(ctx.target().name())}); });
    say(took, fmt::format("link: {} bytes of machine code for {}{}; not run here", linked.cubin.size(),
                          ctx.target().name(), linked.cached ? ", from the cache" : ""));
  }
}

void tune(const pl::Context& ctx, const pl::Settings& problem) {
  pl::TuneResult tuned;
  const double took = milliseconds_of([&] {
    tuned = pl::tune_template(ctx, pl::gemm_template(), {.problem = problem, .budget = {.seconds = 2}});
  });
  if (!tuned.record) return say(took, "tune: no candidate was measured in time");
  say(took, fmt::format("tune: {} candidates, each verified first; the best takes {:.1f} us = {:.1f} TFLOP/s",
                        tuned.search.evaluations, tuned.record->time_us,
                        pl::gemm_template().operations(problem) / tuned.record->time_us * 1e-6));
}

bool run_case(const pl::Context& ctx, const Case& one, const fs::path& folder) {
  const pl::Settings problem = pl::gemm_template().problem((ctx.is_gpu() ? one.gpu : one.cpu).settings());
  fmt::print("\n{} x {} x {}, {} to {}: {}\n", problem.at("m"), problem.at("n"), problem.at("k"),
             problem.at("a"), problem.at("d"), one.what);
  std::vector<pl::HostTensor> inputs;
  say(milliseconds_of([&] { inputs = matrices(problem, folder); }),
      "matrices written to .npy files and read back");
  if (ctx.is_gpu()) tune(ctx, problem);
  const pl::RunResult result =
      pl::run_template(ctx, pl::gemm_template(), {.problem = problem, .inputs = inputs});
  const pl::Kernel& kernel = result.kernel.kernels.front();
  std::string chosen;
  for (const char* word : {"mma", "tile_m", "tile_n", "tile_k", "stages"}) {
    if (const auto value = result.kernel.config.find(word); value != result.kernel.config.end()) {
      chosen += fmt::format(" {}={}", word, value->second);
    }
  }
  say(result.kernel.emit_ms, "pick and build:" + chosen);
  say(kernel.times().check, "check: every instruction is legal for " + std::string(ctx.target().name()));
  say(kernel.times().print, "print");
  show_ptx(kernel.ptx());
  show_link(ctx, kernel);
  say(result.run_ms, "run on the " + ctx.device().name);
  const bool ok = result.verdict.ok();
  say(result.verify_ms,
      ok ? fmt::format("verified: {} elements, all within the tolerance", result.verdict.checked)
         : "WRONG: " + result.verdict.first);
  return ok;
}

int demo() {
  const fs::path folder =
      fs::temp_directory_path() / fmt::format("ptxloom-demo-{:x}", std::random_device()());
  fs::create_directories(folder);
  // Uses its own records folder: a quick search must not pass for a thorough one.
  const pl::Context ctx({.records_folder = folder / "records"});
  fmt::print("ptxloom {}: {}\n", pl::library_version(),
             ctx.is_gpu()
                 ? fmt::format("on the {}, {}", ctx.device().name, ctx.target().name())
                 : "there is no GPU here; the kernels are emitted for sm_90a and run in the CPU executor");
  bool ok = true;
  for (const Case& one : cases()) ok = run_case(ctx, one, folder) && ok;
  fs::remove_all(folder);
  fmt::print("\n{}\n", ok ? "every result was verified against a reference computed on the host"
                          : "some results are WRONG");
  return ok ? 0 : 1;
}

}  // namespace

int main() {
  try {
    return demo();
  } catch (const pl::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return pl::exit_code(error.kind());
  }
}
