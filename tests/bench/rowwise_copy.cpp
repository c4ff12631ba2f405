// SPDX-License-Identifier: Apache-2.0
// Softmax and norms of rows beside a device copy of the same bytes, in one run: the template's default
// configuration and the best that a short search finds, in turns with a kernel that copies x to y in 16-byte
// vectors, in several forms of which the fastest counts. Random data, graph replays over rotating buffers,
// medians.
//   rowwise_copy [SECONDS [ROWSxN ...]]    seconds of search for each case, default 3; needs a GPU
// Claim: in bf16 at least 0.90 of the copy at 8192x8192 and 32768x4096, at least 0.75 at 1,000 and 50,257
// elements.
#include <fmt/format.h>

#include "bench.hpp"
#include "copy_kernel.hpp"
#include "ptxloom/runner.hpp"
#include "ptxloom/templates.hpp"
#include "ptxloom/tuner.hpp"
#include "session_measurer.hpp"
#include "tune/bench.hpp"

using namespace ptxloom;
using namespace ptxloom::bench;

namespace {

constexpr int kTurns = 11;

struct Runner {
  std::string name;
  std::unique_ptr<tune::Bench::Loaded> loaded;
  std::vector<double> us = {};
};

std::string words_of(const Settings& settings) {
  std::string text;
  for (const auto& [name, value] : settings) text += fmt::format(" {}={}", name, value);
  return text;
}

void measure(const Context& ctx, const Settings& words, double seconds) {
  const Template& rowwise = Templates().find("rowwise");
  const Tunable what = tunable(ctx, rowwise, {.problem = words});
  const tune::Task task = what.task();
  const auto bench = tune::make_gpu_bench(ctx.device_context(), task);
  const tune::Admissible space = tune::admit(what.space, ctx.target());
  SessionMeasurer measurer(*bench, task);
  std::vector<Settings> first = {what.standard};
  first.insert(first.end(), what.promising.begin(), what.promising.end());
  const tune::SearchResult found =
      tune::search(space, ctx.target(), what.make, &ctx.linker(), measurer,
                   {.budget = {.seconds = seconds}, .first = first, .device = ctx.device()});
  if (found.fault) throw Error(ErrorKind::refused, {*found.fault});
  if (found.best() == nullptr) throw Error(ErrorKind::refused, "no-correct-candidate", "nothing was correct");
  const auto load = [&](const Settings& config) {
    const Specialised made = specialise(ctx, rowwise, what.problem, config);
    const auto cubin = made.kernels.front().cubin();
    return bench->load({.ptx = {}, .cubin = {cubin.begin(), cubin.end()}, .launches = made.launches});
  };
  std::vector<Runner> runners;
  runners.push_back({"default", load(what.standard)});
  runners.push_back({"tuned", load(found.best()->config)});
  const std::uint64_t bytes = task.tensors.front().plan.bytes();
  for (const std::uint32_t loads : kCopyLoads)
    runners.push_back({"copy", bench->load(copy_candidate(ctx, bytes, loads))});
  for (int turn = 0; turn < kTurns; ++turn)
    for (Runner& runner : runners) runner.us.push_back(bench->time_us(*runner.loaded));
  double copy = median(runners[2].us);
  for (std::size_t i = 3; i < runners.size(); ++i) copy = std::min(copy, median(runners[i].us));
  const double standard = median(runners[0].us), tuned = median(runners[1].us);
  const auto rate = [&](double us) { return 2e-6 * static_cast<double>(bytes) / us; };
  fmt::print("| {} | {}x{} | {:.2f} | {:.2f} | {:.2f} | {:.3f} | {:.3f} |{} |{} |\n", words.at("op"),
             words.at("rows"), words.at("n"), rate(copy), rate(standard), rate(tuned), copy / standard,
             copy / tuned, words_of(found.best()->config), words_of(what.standard));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) try {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const double seconds = arguments.empty() ? 3 : std::stod(arguments[0]);
  std::vector<std::string> shapes(arguments.begin() + (arguments.empty() ? 0 : 1), arguments.end());
  if (shapes.empty()) shapes = {"8192x8192", "32768x4096", "65536x1000", "2048x50257"};
  const Context ctx({.device = "gpu"});
  fmt::print("{}, TB/s of x and y\n\n", ctx.device().name);
  fmt::print(
      "| op | rows x n | copy | default | tuned | default of copy | tuned of copy | tuned configuration | "
      "default |\n|---|---|---|---|---|---|---|---|---|\n");
  for (const std::string op : {"rms_norm", "softmax", "layer_norm", "log_softmax"})
    for (const std::string& shape : shapes) {
      const std::size_t x = shape.find('x');
      if (x == std::string::npos)
        throw Error(ErrorKind::usage, "bad-usage", fmt::format("'{}' is no ROWSxN", shape));
      Settings words = {{"op", op}, {"rows", shape.substr(0, x)}, {"n", shape.substr(x + 1)}};
      if (op.ends_with("norm")) words["weight"] = "bf16";
      measure(ctx, words, seconds);
    }
  return 0;
} catch (const Error& error) {
  fmt::print(stderr, "{}\n", error.what());
  return error.kind() == ErrorKind::missing ? 0 : static_cast<int>(error.kind());  // ./dev bench runs it
}
