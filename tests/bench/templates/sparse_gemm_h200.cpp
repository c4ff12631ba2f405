// SPDX-License-Identifier: Apache-2.0
// sparse_gemm on a GPU, in turns with our own gemm of the same sizes and types, whose operands are dense.
// Default configurations, and those of a short search. Random data, buffers that rotate through more than L2
// holds, graph replays, medians. All results are compared with the references at samples.
//   sparse_gemm_h200 [--budget S] [CASE ...]
//     --budget   seconds of search for each kernel (0: only defaults)
//     CASE       TYPE:MxNxK; without cases: those of kCases
// Claim, f16 at 8192^3: at least 1.5 times as fast as gemm.
#include <fmt/format.h>

#include <cmath>

#include "bench/task_bench.hpp"
#include "bench/templates/scaled_gemm_cases.hpp"
#include "ptxloom/gemm.hpp"
#include "ptxloom/templates.hpp"

using namespace ptxloom;
using namespace ptxloom::bench;

namespace {

constexpr std::size_t kTurns = 9;
constexpr const char* kCases[] = {"f16:8192x8192x8192",  "bf16:4096x4096x4096", "s8:8192x8192x8192",
                                  "e4m3:8192x8192x8192", "f16:64x8192x8192",    "f16:256x8192x8192"};

struct Sizes {
  std::string type;
  std::vector<std::uint64_t> mnk;

  Settings words(const char* name_of_type) const {
    return {{name_of_type, type},
            {"m", std::to_string(mnk[0])},
            {"n", std::to_string(mnk[1])},
            {"k", std::to_string(mnk[2])},
            {"d", type == "s8"    ? "s32"
                  : type == "f16" ? "f16"
                                  : "bf16"}};
  }
  double operations() const {
    return 2.0 * static_cast<double>(mnk[0]) * static_cast<double>(mnk[1]) * static_cast<double>(mnk[2]);
  }
};

Sizes sizes_of(const std::string& text) {
  const std::vector<std::string> parts = parts_of(text, ':');
  if (parts.size() != 2)
    throw Error(ErrorKind::usage, "bad-usage", fmt::format("'{}' is no case", text), "give TYPE:MxNxK");
  return {parts[0], numbers_of(parts[1], 3)};
}

tune::Task task_of(const Template& kernel_template, const Settings& problem, double operations) {
  tune::Task task{.tensors = kernel_template.inputs(problem, 1),
                  .operations = operations,
                  .unit = kernel_template.unit(problem)};
  task.expected = kernel_template.expect(problem, task.tensors);
  for (const TensorPlan& plan : kernel_template.tensors(problem))
    if (plan.role == TensorPlan::Role::out)
      task.tensors.push_back({plan, std::vector<std::byte>(plan.bytes())});
  return task;
}

/// A template for a problem, with the configurations that are timed.
class Timed {
 public:
  Timed(const Context& ctx, const Template& kernel_template, const Settings& words, double operations)
      : what_(tunable(ctx, kernel_template, {.problem = words})),
        bench_(ctx, what_, task_of(kernel_template, what_.problem, operations)) {}

  void add(std::vector<Turn>& turns, const std::string& name, double budget) {
    std::shared_ptr<tune::Bench::Loaded> loaded = bench_.load(what_.standard);
    bench_.require_correct(*loaded);
    turns.emplace_back(name, bench_.bench(), loaded);
    config_ = words_of(what_.standard);
    if (budget <= 0) return;
    const tune::SearchResult found = bench_.search(budget);
    turns.emplace_back(name + " tuned", bench_.bench(), bench_.load(found.best()->config));
    config_ = words_of(found.best()->config);
  }
  const std::string& config() const { return config_; }

 private:
  Tunable what_;
  TaskBench bench_;
  std::string config_;
};

void measure(const Context& ctx, const std::string& text, double budget) {
  const Sizes sizes = sizes_of(text);
  Timed sparse(ctx, Templates().find("sparse_gemm"), sizes.words("type"), sizes.operations());
  Timed dense(ctx, gemm_template(), sizes.words("a"), sizes.operations());
  std::vector<Turn> turns;
  sparse.add(turns, "sparse", budget);
  dense.add(turns, "dense", budget);
  time_in_turns(turns, kTurns);
  const auto best = [&](const std::string& name) {
    const double standard = median_us(turns, name), tuned = median_us(turns, name + " tuned");
    return tuned > 0 ? std::min(standard, tuned) : standard;
  };
  const double rate = sizes.operations() * 1e-6;
  fmt::print("| {} | {:.1f} | {:.1f} | {:.0f} | {:.1f} | {:.1f} | {:.2f} |{} |\n", text,
             median_us(turns, "sparse"), best("sparse"), rate / best("sparse"), median_us(turns, "dense"),
             best("dense"), best("dense") / best("sparse"), sparse.config());
  std::fflush(stdout);
}

void run(const std::vector<std::string>& words) {
  double budget = 4;
  std::vector<std::string> cases;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--budget" && i + 1 < words.size())
      budget = std::stod(words[++i]);
    else
      cases.push_back(words[i]);
  }
  if (cases.empty()) cases.assign(std::begin(kCases), std::end(kCases));
  const Context ctx({.device = "gpu"});
  fmt::print("{}; us; rates count zeros as products\n\n", ctx.device().name);
  fmt::print(
      "| case | sparse | best | TFLOP/s | dense | best | of dense | configuration "
      "|\n|---|---|---|---|---|---|---|---|\n");
  for (const std::string& one : cases) try {
      measure(ctx, one, budget);
    } catch (const Error& error) {
      fmt::print("| {} | {} |\n", one, error.diagnostics().front().message);
    }
}

}  // namespace

int main(int argc, char** argv) try {
  run({argv + 1, argv + argc});
  return 0;
} catch (const Error& error) {
  fmt::print(stderr, "{}\n", error.what());
  return error.kind() == ErrorKind::missing ? 0 : static_cast<int>(error.kind());  // ./dev bench runs it
}
