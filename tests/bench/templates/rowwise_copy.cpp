// SPDX-License-Identifier: Apache-2.0
// Softmax and norms of rows beside a device copy of the same bytes, in one run: the template's default
// configuration and the best that a short search finds, in turns with a kernel that copies x to y in 16-byte
// vectors, in several forms of which the fastest counts. Random data, graph replays over rotating buffers,
// medians.
//   rowwise_copy [SECONDS [ROWSxN ...]]    seconds of search for each case, default 3; needs a GPU
// Claim: in bf16 at least 0.90 of the copy at 8192x8192 and 32768x4096, at least 0.75 at 1,000 and 50,257
// elements.
#include <fmt/format.h>

#include "bench/task_bench.hpp"
#include "bench/templates/copy_kernel.hpp"
#include "ptxloom/templates.hpp"

using namespace ptxloom;
using namespace ptxloom::bench;

namespace {

constexpr int kTurns = 11;

void measure(const Context& ctx, const Settings& words, double seconds) {
  const Template& rowwise = Templates().find("rowwise");
  Tunable what = tunable(ctx, rowwise, {.problem = words});
  tune::Task task = what.task();
  TaskBench bench(ctx, std::move(what), std::move(task));
  const Settings &standard_config = bench.what().standard,
                 tuned_config = bench.search(seconds).best()->config;
  std::vector<Turn> turns;
  turns.emplace_back("default", bench.bench(), bench.load(standard_config));
  turns.emplace_back("tuned", bench.bench(), bench.load(tuned_config));
  const std::uint64_t bytes = bench.task().tensors.front().plan.bytes();
  for (const std::uint32_t loads : kCopyLoads)
    turns.emplace_back("copy", bench.bench(), bench.bench().load(copy_candidate(ctx, bytes, loads)));
  time_in_turns(turns, kTurns);
  const double copy = median_us(turns, "copy"), standard = median_us(turns, "default"),
               tuned = median_us(turns, "tuned");
  const auto rate = [&](double us) { return 2e-6 * static_cast<double>(bytes) / us; };
  fmt::print("| {} | {}x{} | {:.2f} | {:.2f} | {:.2f} | {:.3f} | {:.3f} |{} |{} |\n", words.at("op"),
             words.at("rows"), words.at("n"), rate(copy), rate(standard), rate(tuned), copy / standard,
             copy / tuned, words_of(tuned_config), words_of(standard_config));
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
