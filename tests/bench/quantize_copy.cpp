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

/// Inputs whose rows are drawn once and then repeated: drawing 100 million numbers takes longer than timing.
std::vector<HostTensor> inputs_of(const Template& kernel_template, const Settings& problem) {
  Settings drawn = problem;
  drawn["rows"] = std::to_string(std::min<std::uint64_t>(std::stoull(problem.at("rows")), kDrawnRows));
  std::vector<HostTensor> all = kernel_template.inputs(kernel_template.problem(drawn), 1);
  const std::vector<TensorPlan> plans = kernel_template.tensors(problem);
  for (HostTensor& tensor : all) {
    tensor.plan = *std::ranges::find(plans, tensor.plan.name, &TensorPlan::name);
    const std::vector<std::byte> once = tensor.bytes;
    while (tensor.bytes.size() < tensor.plan.bytes())
      tensor.bytes.insert(tensor.bytes.end(), once.begin(), once.end());
    tensor.bytes.resize(tensor.plan.bytes());
  }
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
  HostTensor from =
      random_tensor({.name = "x", .type = u32, .shape = {std::min(words, kDrawnRows << 10)}}, 2);
  const std::vector<std::byte> once = from.bytes;
  while (from.bytes.size() < 4 * words) from.bytes.insert(from.bytes.end(), once.begin(), once.end());
  from.bytes.resize(4 * words);
  from.plan = x;
  return {.tensors = {std::move(from), {y, std::vector<std::byte>(4 * words)}}, .expected = {}};
}

std::string words_of(const Settings& settings) {
  std::string text;
  for (const auto& [name, value] : settings) text += fmt::format(" {}={}", name, value);
  return text;
}

/// One of the kernels that are timed in turns.
struct Turn {
  tune::Bench* bench;
  std::unique_ptr<tune::Bench::Loaded> loaded;
  std::vector<double> us = {};
};

class Measurement {
 public:
  Measurement(const Context& ctx, const Case& what, double seconds, std::ofstream& data)
      : ctx_(ctx),
        seconds_(seconds),
        data_(data),
        template_(Templates().find(what.name)),
        what_(tunable(ctx, template_, {.problem = what.problem})),
        task_(task_of(template_, what_.problem)),
        bench_(tune::make_gpu_bench(ctx.device_context(), task_)) {
    for (const HostTensor& tensor : task_.tensors) bytes_ += tensor.plan.bytes();
  }

  /// A row of the table.
  void run() {
    const Settings tuned = seconds_ > 0 ? searched() : what_.standard;
    require_correct(what_.standard);
    const tune::Task to_copy = copy_task(bytes_);  // the bench refers to it
    const auto copies = tune::make_gpu_bench(ctx_.device_context(), to_copy);
    std::vector<Turn> turns;
    turns.push_back({bench_.get(), load(what_.standard)});
    turns.push_back({bench_.get(), load(tuned)});
    for (const std::uint32_t loads : kCopyLoads)
      turns.push_back({copies.get(), copies->load(copy_candidate(ctx_, bytes_ / 2, loads))});
    for (int i = 0; i < kTurns; ++i)
      for (Turn& turn : turns) turn.us.push_back(turn.bench->time_us(*turn.loaded));
    double copy = median(turns[2].us);
    for (std::size_t i = 3; i < turns.size(); ++i) copy = std::min(copy, median(turns[i].us));
    print_row(copy, median(turns[0].us), median(turns[1].us), tuned);
  }

 private:
  Settings searched() {
    const tune::Admissible space = tune::admit(what_.space, ctx_.target());
    SessionMeasurer measurer(*bench_, task_);
    std::vector<Settings> first = {what_.standard};
    first.insert(first.end(), what_.promising.begin(), what_.promising.end());
    const tune::SearchResult found =
        tune::search(space, ctx_.target(), what_.make, &ctx_.linker(), measurer,
                     {.budget = {.seconds = seconds_}, .first = first, .device = ctx_.device()});
    if (found.fault) throw Error(ErrorKind::refused, {*found.fault});
    for (const tune::Measurement& one : found.candidates) record(one);
    data_.flush();
    if (found.best() == nullptr)
      throw Error(ErrorKind::refused, "no-correct-candidate", "nothing was correct");
    return found.best()->config;
  }

  void record(const tune::Measurement& one) {
    nlohmann::json line = {{"template", what_.name},
                           {"problem", what_.problem},
                           {"config", one.config},
                           {"us", one.problem ? nlohmann::json() : nlohmann::json(one.time_us)}};
    if (one.problem) line["why"] = one.problem->message;
    if (one.resources) line["registers"] = one.resources->registers;
    data_ << line.dump() << '\n';
  }

  std::unique_ptr<tune::Bench::Loaded> load(const Settings& config) {
    tune::Candidate candidate = what_.make(config);
    candidate.cubin = ctx_.linker().link(candidate.ptx, {.target = std::string(ctx_.target().name())}).cubin;
    candidate.ptx.clear();
    return bench_->load(candidate);
  }

  void require_correct(const Settings& config) {
    const std::unique_ptr<tune::Bench::Loaded> loaded = load(config);
    const Verdict verdict = verify_run(task_.expected, [&](std::byte poison) {
      bench_->prepare(poison);
      bench_->run(*loaded);
      for (std::size_t i = 0; i < task_.tensors.size(); ++i)
        if (task_.tensors[i].plan.role == TensorPlan::Role::out) bench_->read(i, task_.tensors[i].bytes);
      return std::span<const HostTensor>(task_.tensors);
    });
    if (!verdict.ok()) throw Error(ErrorKind::refused, "wrong-result", verdict.first);
  }

  void print_row(double copy, double standard, double tuned, const Settings& config) const {
    const auto rate = [&](double us) { return 1e-6 * static_cast<double>(bytes_) / us; };
    const Settings& p = what_.problem;
    const std::string group = p.contains("group") ? " " + p.at("group") : "";
    fmt::print("| {} | {} | {}{} | {}x{} | {:.2f} | {:.2f} | {:.2f} | {:.3f} | {:.3f} |{} |{} |\n",
               what_.name, p.at("format"), p.at("scales"), group, p.at("rows"), p.at("n"), rate(copy),
               rate(standard), rate(tuned), copy / standard, copy / tuned, words_of(what_.standard),
               words_of(config));
    std::fflush(stdout);
  }

  const Context& ctx_;
  double seconds_;
  std::ofstream& data_;
  const Template& template_;
  Tunable what_;
  tune::Task task_;
  std::unique_ptr<tune::Bench> bench_;
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
