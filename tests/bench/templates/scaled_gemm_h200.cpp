// SPDX-License-Identifier: Apache-2.0
// scaled_gemm on a GPU, in turns with what it is held against: our own bf16 gemm of the same sizes, and
// cuBLASLt in bf16, one call for each expert, in a graph. With swiglu, also the product alone, and with
// activations of 8 bits also the kernel for bf16. Default configurations, and those of a short search if
// there is a budget. Random data, buffers that rotate through more than L2 holds, graph replays, medians. All
// of our results are compared with the reference at samples, those of cuBLASLt with the same.
//   scaled_gemm_h200 [--seconds S] [--budget S] [--records FILE] [--set NAME=VALUE ...] [CASE ...]
//     --seconds  no case is begun after so many (500)
//     --budget   seconds of search for each kernel of ours (0: only defaults)
//     --records  a JSON line for each case is appended to it, and cases that it has are only printed,
//                unless they failed
//     --set      a parameter of the problem of all kernels of scaled_gemm, such as sums=plain, but none that
//                the case or the benchmark sets; not with --records, which know a case by its name
//     CASE       dense:A:B:M[:NxK], swiglu:A:B:M[:NxK],
//                masked:A:B:EXPERTS:TOKENSxTOP:NxK[:swiglu], or contiguous: with the same;
//                A and B are formats of scaled_gemm. Without cases: those of all_scaled_cases().
// Claim, bf16 x 4 bits: at N = K = 8192 at most 14 us for M = 1 and 16 us for M = 16, at least 340, 500 and
// 600 TFLOP/s for M = 64, 128 and 256, and 0.93 of gemm for M = 4096; experts: 1.1 of cuBLASLt and 0.93 of
// gemm from 512 tokens each on, 2 of both up to 16.
#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "bench/sampled_reference.hpp"
#include "bench/task_bench.hpp"
#include "bench/templates/scaled_gemm_options.hpp"
#include "bench/templates/vendor_loop.hpp"
#include "ptxloom/gemm.hpp"
#include "ptxloom/record.hpp"
#include "ptxloom/templates.hpp"

using namespace ptxloom;
using namespace ptxloom::bench;

namespace {

constexpr std::size_t kTurns = 9;
constexpr std::uint64_t kDrawn = (std::uint64_t{1} << 22) + 37;  // elements, which larger tensors repeat

/// The vector of groups: as many rows as each expert has, or the expert of each 128 rows.
HostTensor groups_of(const ScaledCase& what, const TensorPlan& plan) {
  HostTensor tensor{plan, std::vector<std::byte>(plan.bytes())};
  std::size_t index = 0;
  const auto add = [&](std::uint64_t value) {
    const auto number = static_cast<std::int32_t>(value);
    std::memcpy(tensor.bytes.data() + 4 * index++, &number, 4);
  };
  for (std::size_t i = 0; i < what.experts(); ++i) {
    if (what.groups == "masked") add(what.rows[i]);
    if (what.groups == "contiguous")
      for (std::uint64_t row = 0; row < what.capacity(i); row += 128) add(i);
  }
  return tensor;
}

std::vector<HostTensor> tensors_of(const ScaledCase& what, const Template& kernel_template,
                                   const Settings& problem) {
  std::vector<HostTensor> all;
  for (const TensorPlan& plan : kernel_template.tensors(problem)) {
    TensorPlan part = plan;
    part.shape = {std::min(plan.elements(), kDrawn)};
    if (plan.role == TensorPlan::Role::out)
      all.push_back({plan, std::vector<std::byte>(plan.bytes())});
    else if (plan.name == "group_rows" || plan.name == "group_of_rows")
      all.push_back(groups_of(what, plan));
    else
      all.push_back(repeated(random_tensor(part, 1), plan));
  }
  return all;
}

Settings gemm_problem(const ScaledCase& what) {
  Settings words = sizes_of(what);
  words["a"] = "bf16";
  return words;
}

/// Rows `first` to `first` + `count` - 1 of a tensor that is a matrix, or batches of them.
HostTensor part_of(const HostTensor& whole, std::uint64_t first, std::uint64_t count) {
  const std::uint64_t columns = whole.plan.shape.back(),
                      row = columns * static_cast<std::uint64_t>(whole.plan.type.bytes());
  HostTensor part{whole.plan, {}};
  part.plan.shape = {count, columns};
  const auto begin = whole.bytes.begin() + static_cast<std::ptrdiff_t>(first * row);
  part.bytes.assign(begin, begin + static_cast<std::ptrdiff_t>(count * row));
  return part;
}

/// What D of the bf16 product must hold at samples of up to three experts that have tokens.
Expectation gemm_samples(const ScaledCase& what, const std::vector<HostTensor>& tensors) {
  std::vector<std::size_t> busy;
  for (std::size_t i = 0; i < what.experts(); ++i)
    if (what.rows[i] > 0) busy.push_back(i);
  const bool all_computed = what.first_row(what.experts()) == what.all_rows();
  Expectation all{.tensor = "d", .complete = !all_computed};  // rows that are not computed are not listed
  for (const std::size_t at : std::set{std::size_t{0}, busy.size() / 2, busy.size() - 1}) {
    const std::size_t expert = busy.at(at);
    const std::uint64_t first = what.first_row(expert);
    const Settings own = {{"m", std::to_string(what.rows[expert])},
                          {"n", std::to_string(what.n)},
                          {"k", std::to_string(what.k)},
                          {"a", "bf16"},
                          {"d", "bf16"}};
    const Expectation samples =
        sampled_reference(own, part_of(tensors.at(0), first, what.rows[expert]),
                          part_of(tensors.at(1), expert * what.n, what.n), expert + 1);
    for (Expectation::Point point : samples.points) {
      point.index += first * what.n;
      all.points.push_back(point);
    }
  }
  return all;
}

tune::Task scaled_task(const ScaledCase& what, const Settings& problem) {
  const Template& scaled = Templates().find("scaled_gemm");
  tune::Task task{.tensors = tensors_of(what, scaled, problem),
                  .operations = what.operations(),
                  .unit = scaled.unit(problem)};
  task.expected =
      scaled.expect(problem, std::span(task.tensors).first(task.tensors.size() - 1));  // D is last
  return task;
}

tune::Task gemm_task(const ScaledCase& what, const Settings& problem) {
  const Template& gemm = gemm_template();
  tune::Task task{.tensors = tensors_of(what, gemm, problem),
                  .operations = what.operations(),
                  .unit = gemm.unit(problem)};
  task.expected = {gemm_samples(what, task.tensors)};
  return task;
}

/// One of our templates, for a case.
class Ours {
 public:
  Ours(const Context& ctx, const Template& kernel_template, const Settings& words, auto make_task)
      : what_(tunable(ctx, kernel_template, {.problem = words})),
        bench_(ctx, what_, make_task(what_.problem)) {}

  /// Adds the default, and with a budget the winner of a search.
  void add(std::vector<Turn>& turns, const std::string& name, double budget, nlohmann::json& line) {
    std::shared_ptr<tune::Bench::Loaded> loaded = bench_.load(what_.standard);
    bench_.require_correct(*loaded);
    turns.emplace_back(name, bench_.bench(), loaded);
    line[name + " config"] = what_.standard;
    if (budget <= 0) return;
    const tune::SearchResult found = bench_.search(budget);
    turns.emplace_back(name + " tuned", bench_.bench(), bench_.load(found.best()->config));
    line[name + " tuned config"] = found.best()->config;
    for (const tune::Measurement& one : found.candidates)
      if (!one.problem) line[name + " tried"].push_back({{"config", one.config}, {"us", one.time_us}});
  }
  const tune::Task& task() const { return bench_.task(); }

 private:
  Tunable what_;
  TaskBench bench_;
};

/// cuBLASLt, one call for each expert, on memory of its own.
class Vendor {
 public:
  Vendor(const Context& ctx, const ScaledCase& what, const tune::Task& task)
      : task_(task), a_(upload(ctx, task, 0)), b_(upload(ctx, task, 1)), d_(upload(ctx, task, out())) {
    const MatrixProduct shape{.n = what.n,
                              .k = what.k,
                              .a = bf16,
                              .b = bf16,
                              .c = bf16,
                              .d = bf16,
                              .lda = what.k,
                              .ldb = what.k,
                              .ldc = what.n,
                              .ldd = what.n};
    std::vector<VendorLoop::Product> products;
    for (std::size_t i = 0; i < what.experts(); ++i) {
      const std::uint64_t first = what.first_row(i), d = d_.address() + 2 * first * what.n;
      products.push_back(
          {.m = what.rows[i],
           .tensors = {a_.address() + 2 * first * what.k, b_.address() + 2 * i * what.n * what.k, d, d}});
    }
    loop_.emplace(ctx.device_context(), shape, std::move(products));
  }

  void require_correct(VendorLoop::Choice choice) {
    d_.fill(kPoison);
    loop_->run(choice);
    HostTensor d{task_.tensors.at(out()).plan, std::vector<std::byte>(d_.size())};
    d_.download(d.bytes);
    const Verdict verdict = verify(task_.expected.at(0), d);
    if (!verdict.ok()) throw Error(ErrorKind::refused, "wrong-result", loop_->name() + ": " + verdict.first);
  }

  void add(std::vector<Turn>& turns) {
    for (const auto& [name, choice] : {std::pair{"cublaslt", VendorLoop::Choice::standard},
                                       std::pair{"cublaslt best", VendorLoop::Choice::fastest}}) {
      require_correct(choice);
      turns.emplace_back(name, [this, by = choice] { return loop_->time_us(by); });
    }
  }

 private:
  std::size_t out() const { return task_.tensors.size() - 1; }
  static DeviceMemory upload(const Context& ctx, const tune::Task& task, std::size_t index) {
    const HostTensor& tensor = task.tensors.at(index);
    DeviceMemory memory(ctx.device_context(), tensor.plan.bytes());
    memory.upload(tensor.bytes);
    return memory;
  }

  const tune::Task& task_;
  DeviceMemory a_, b_, d_;
  std::optional<VendorLoop> loop_;
};

void measure(const Context& ctx, const ScaledCase& what, const ScaledOptions& options, nlohmann::json& line) {
  const double budget = options.budget;
  const auto scaled = [&](const Settings& words) {
    return std::make_unique<Ours>(ctx, Templates().find("scaled_gemm"), words,
                                  [&](const Settings& problem) { return scaled_task(what, problem); });
  };
  std::vector<std::unique_ptr<Ours>> ours;
  std::vector<Turn> turns;
  ours.push_back(scaled(scaled_problem(what, what.format_a, what.swiglu, options.more)));
  ours.back()->add(turns, "ours", budget, line);
  if (what.swiglu) {
    ours.push_back(scaled(scaled_problem(what, what.format_a, false, options.more)));
    ours.back()->add(turns, "product", budget, line);
  }
  if (what.format_a != "bf16") {
    ours.push_back(scaled(scaled_problem(what, "bf16", what.swiglu, options.more)));
    ours.back()->add(turns, "bf16 x B", budget, line);
  }
  Ours gemm(ctx, gemm_template(), gemm_problem(what),
            [&](const Settings& problem) { return gemm_task(what, problem); });
  gemm.add(turns, "gemm", budget, line);
  std::optional<Vendor> vendor;
  try {
    vendor.emplace(ctx, what, gemm.task());
    vendor->add(turns);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::missing) throw;
    line["without"] = error.what();
  }
  time_in_turns(turns, kTurns);
  for (const Turn& turn : turns) line["us"][turn.name] = median(turn.us);
}

std::string row_of(const nlohmann::json& line) {
  const std::string name = line.at("problem");
  if (line.contains("failure"))
    return fmt::format("| {} | {} |\n", name, line.at("failure").get<std::string>());
  const nlohmann::json& us = line.at("us");
  const double own = us.at("ours"), best = us.value("ours tuned", own);
  const double rate = line.at("operations").get<double>() * 1e-6;
  std::string row =
      fmt::format("| {} | {:.2f} | {:.1f} | {:.2f} | {:.1f} |", name, own, rate / own, best, rate / best);
  for (const char* rival : {"gemm", "cublaslt", "cublaslt best", "product", "bf16 x B"}) {
    const double time = std::min(us.value(rival, 0.0), us.value(std::string(rival) + " tuned", HUGE_VAL));
    row += time > 0 ? fmt::format(" {:.2f} ({:.2f}) |", time, time / own) : " |";
  }
  for (const char* config : {"ours config", "ours tuned config"})
    row += line.contains(config) ? words_of(line.at(config).get<Settings>()) + " |" : " |";
  return row + "\n";
}

nlohmann::json line_of(const Context& ctx, const ScaledCase& what, const ScaledOptions& options) {
  nlohmann::json line = {{"problem", what.text},
                         {"operations", what.operations()},
                         {"device", ctx.device().name},
                         {"library", library_version()}};
  const double ms = milliseconds_of([&] {
    try {
      measure(ctx, what, options, line);
    } catch (const Error& error) {
      line["failure"] = error.diagnostics().front().message;
    }
  });
  line["seconds"] = ms / 1000;
  return line;
}

std::map<std::string, nlohmann::json> known_lines(const std::string& file) {
  std::map<std::string, nlohmann::json> known;
  std::ifstream in(file);
  for (std::string text; std::getline(in, text);) {
    const nlohmann::json line = nlohmann::json::parse(text, nullptr, false);
    if (line.is_object() && line.contains("problem") && !line.contains("failure"))
      known[line.at("problem")] = line;
  }
  return known;
}

void run(const ScaledOptions& options) {
  std::map<std::string, nlohmann::json> known;
  if (!options.records.empty()) known = known_lines(options.records);
  const Context ctx({.device = "gpu"});
  fmt::print("{}; us, and how many times as long as the default\n\n", ctx.device().name);
  fmt::print(
      "| case | default | TFLOP/s | tuned | TFLOP/s | gemm | cuBLASLt | best of cuBLASLt | product alone | "
      "bf16 x B | default | tuned |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  double spent = 0;
  std::size_t left = 0;
  for (const ScaledCase& one : options.cases) {
    if (!known.contains(one.text)) {
      if (spent > options.seconds) {
        ++left;
        continue;
      }
      const nlohmann::json line = line_of(ctx, one, options);
      spent += line.at("seconds").get<double>();
      known[one.text] = line;
      if (!options.records.empty()) std::ofstream(options.records, std::ios::app) << line.dump() << '\n';
    }
    fmt::print("{}", row_of(known.at(one.text)));
    std::fflush(stdout);
    ctx.synchronize();  // if a kernel has brought the device down, this says so, with its line kept
  }
  fmt::print(stderr, "{:.0f} s, {} cases left\n", spent, left);
}

}  // namespace

int main(int argc, char** argv) try {
  run(read_options({argv + 1, argv + argc}));
  return 0;
} catch (const Error& error) {
  fmt::print(stderr, "{}\n", error.what());
  return error.kind() == ErrorKind::missing ? 0 : static_cast<int>(error.kind());  // ./dev bench runs it
}
