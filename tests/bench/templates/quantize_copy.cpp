// SPDX-License-Identifier: Apache-2.0
// quantize and dequantize beside a device copy of the same total bytes, read and written, in one run: the
// default configuration and the best that a short search finds, in turns with a kernel that copies half of
// those bytes in 16-byte vectors, in several forms of which the fastest counts. Random data, graph replays
// over rotating buffers, medians. The default and the winner are verified.
//   quantize_copy [SECONDS [FILE [TEMPLATE:FORMAT[:SCALES[:GROUP|:computed]][@ROWSxN] ...]]]
//     SECONDS: of search for each case, default 2; 0: only the default. FILE: gets a line of JSON for each
//     configuration that was timed; "-": none. Without cases: all. Needs a GPU. Formats that the target
//     cannot convert are listed as such.
// Claim: from bf16 and back at least 0.90 of the copy at 4096x4096 and larger, at least 0.75 for rows of any
// length.
#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "bench/task_bench.hpp"
#include "bench/templates/copy_kernel.hpp"
#include "ptxloom/templates.hpp"

using namespace ptxloom;
using namespace ptxloom::bench;

namespace {

constexpr int kTurns = 9;
constexpr std::uint64_t kDrawnRows = 512;  // random rows, which larger inputs repeat

struct Case {
  std::string name;  // of the template
  Settings problem;
};

/// The parts of "a:b:c".
std::vector<std::string> parts_of(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

std::vector<Case> cases_of(const std::string& text) {
  const std::vector<std::string> halves = parts_of(text, '@'), words = parts_of(halves.at(0), ':');
  if (words.size() < 2) throw Error(ErrorKind::usage, "bad-usage", text + " is no TEMPLATE:FORMAT");
  std::vector<Case> cases;
  std::vector<std::string> shapes = {"4096x4096", "8192x8192", "32768x4096", "65536x1000", "2048x50257"};
  if (halves.size() > 1) shapes = {halves[1]};
  for (const std::string& shape : shapes) {
    const std::vector<std::string> sizes = parts_of(shape, 'x');
    Settings problem = {{"format", words[1]}, {"rows", sizes.at(0)}, {"n", sizes.at(1)}};
    if (words.size() > 2) problem["scales"] = words[2];
    if (words.size() > 3) problem[words[3] == "computed" ? "scale_of_tensor" : "group"] = words[3];
    cases.push_back({words[0], problem});
  }
  return cases;
}

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (const char* format : {"s8:row", "e4m3:row", "e4m3:tensor", "e4m3:tensor:computed", "e4m3:block",
                             "s4:group:128", "mxfp8_e4m3", "mxfp6_e2m3", "mxfp4", "nvfp4"})
    for (const std::string name : {"quantize", "dequantize"})
      if (name == "quantize" || std::string_view(format).find("computed") == std::string_view::npos)
        for (const Case& one : cases_of(fmt::format("{}:{}", name, format))) all.push_back(one);
  return all;
}

/// Inputs whose rows are drawn once and then repeated.
std::vector<HostTensor> inputs_of(const Template& kernel_template, const Settings& problem) {
  Settings drawn = problem;
  drawn["rows"] = std::to_string(std::min<std::uint64_t>(std::stoull(problem.at("rows")), kDrawnRows));
  std::vector<HostTensor> all = kernel_template.inputs(kernel_template.problem(drawn), 1);
  const std::vector<TensorPlan> plans = kernel_template.tensors(problem);
  for (HostTensor& tensor : all)
    tensor = repeated(tensor, *std::ranges::find(plans, tensor.plan.name, &TensorPlan::name));
  return all;
}

tune::Task task_of(const Template& kernel_template, const Settings& problem) {
  tune::Task task{.tensors = inputs_of(kernel_template, problem),
                  .operations = kernel_template.operations(problem),
                  .unit = kernel_template.unit(problem),
                  .input_bytes = kernel_template.input_bytes(problem)};
  for (const TensorPlan& plan : kernel_template.tensors(problem))
    if (plan.role == TensorPlan::Role::out) task.tensors.push_back({plan, {}});
  for (HostTensor& tensor : task.tensors)
    if (tensor.bytes.empty()) tensor.bytes.resize(tensor.plan.bytes());
  task.expected = kernel_template.expect(problem, task.tensors);
  return task;
}

/// Half of the bytes in x, and as many in y.
tune::Task copy_task(std::uint64_t bytes) {
  const std::uint64_t words = (bytes / 2 + kCopyVector - 1) / kCopyVector * kCopyVector / 4;
  TensorPlan x{.name = "x", .type = u32, .shape = {words}}, y = x;
  y.name = "y";
  y.role = TensorPlan::Role::out;
  const HostTensor drawn =
      random_tensor({.name = "x", .type = u32, .shape = {std::min(words, kDrawnRows << 10)}}, 2);
  return {.tensors = {repeated(drawn, x), {y, std::vector<std::byte>(4 * words)}}, .expected = {}};
}

class Measurement {
 public:
  Measurement(const Context& ctx, const Case& what, double seconds, std::ofstream& data)
      : ctx_(ctx),
        seconds_(seconds),
        data_(data),
        template_(Templates().find(what.name)),
        bench_(ctx, tunable(ctx, template_, {.problem = what.problem}),
               task_of(template_, template_.problem(what.problem))) {
    for (const HostTensor& tensor : bench_.task().tensors) bytes_ += tensor.plan.bytes();
  }

  /// A row of the table.
  void run() {
    const Settings& standard = bench_.what().standard;
    const Settings tuned = seconds_ > 0 ? searched() : standard;
    std::vector<Turn> turns;
    turns.emplace_back("default", bench_.bench(), bench_.load(standard));
    turns.emplace_back("tuned", bench_.bench(), bench_.load(tuned));
    bench_.require_correct(*bench_.load(standard));
    const tune::Task to_copy = copy_task(bytes_);  // the bench refers to it
    const auto copies = tune::make_gpu_bench(ctx_.device_context(), to_copy);
    for (const std::uint32_t loads : kCopyLoads)
      turns.emplace_back("copy", *copies, copies->load(copy_candidate(ctx_, bytes_ / 2, loads)));
    time_in_turns(turns, kTurns);
    print_row(median_us(turns, "copy"), median_us(turns, "default"), median_us(turns, "tuned"), tuned);
  }

 private:
  Settings searched() {
    const tune::SearchResult found = bench_.search(seconds_);
    for (const tune::Measurement& one : found.candidates) record(one);
    data_.flush();
    return found.best()->config;
  }

  void record(const tune::Measurement& one) {
    nlohmann::json line = {{"template", bench_.what().name},
                           {"problem", bench_.what().problem},
                           {"config", one.config},
                           {"us", one.problem ? nlohmann::json() : nlohmann::json(one.time_us)}};
    if (one.problem) line["why"] = one.problem->message;
    if (one.resources) line["registers"] = one.resources->registers;
    data_ << line.dump() << '\n';
  }

  void print_row(double copy, double standard, double tuned, const Settings& config) const {
    const auto rate = [&](double us) { return 1e-6 * static_cast<double>(bytes_) / us; };
    const Settings& p = bench_.what().problem;
    const std::string group = p.contains("group") ? " " + p.at("group") : "";
    fmt::print("| {} | {} | {}{} | {}x{} | {:.2f} | {:.2f} | {:.2f} | {:.3f} | {:.3f} |{} |{} |\n",
               bench_.what().name, p.at("format"), p.at("scales"), group, p.at("rows"), p.at("n"), rate(copy),
               rate(standard), rate(tuned), copy / standard, copy / tuned, words_of(bench_.what().standard),
               words_of(config));
    std::fflush(stdout);
  }

  const Context& ctx_;
  double seconds_;
  std::ofstream& data_;
  const Template& template_;
  TaskBench bench_;
  std::uint64_t bytes_ = 0;
};

}  // namespace

int main(int argc, char** argv) try {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const double seconds = arguments.empty() ? 2 : std::stod(arguments[0]);
  std::ofstream data;
  if (arguments.size() > 1 && arguments[1] != "-") data.open(arguments[1], std::ios::app);
  std::vector<Case> cases;
  for (std::size_t i = 2; i < arguments.size(); ++i)
    for (const Case& one : cases_of(arguments[i])) cases.push_back(one);
  if (cases.empty()) cases = all_cases();
  const Context ctx({.device = "gpu"});
  fmt::print("{}, TB/s of all tensors\n\n", ctx.device().name);
  fmt::print(
      "| template | format | scales | rows x n | copy | default | tuned | default of copy | tuned of copy | "
      "default | tuned configuration |\n|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (const Case& one : cases) try {
      Measurement(ctx, one, seconds, data).run();
    } catch (const Error& error) {
      fmt::print("| {} |{} | {} |\n", one.name, words_of(one.problem), error.what());
      std::fflush(stdout);
    }
  return 0;
} catch (const Error& error) {
  fmt::print(stderr, "{}\n", error.what());
  return error.kind() == ErrorKind::missing ? 0 : static_cast<int>(error.kind());  // ./dev bench runs it
}
