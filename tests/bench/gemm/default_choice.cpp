// SPDX-License-Identifier: Apache-2.0
// How good is gemm's default configuration, for shapes that nobody tuned? Problems are drawn at random, tuned
// by gemm_vs_cublaslt, and then timed again in turns: the configuration that tuning found, the default one,
// and that of the record of the most similar other problem, which may be a bad choice. Random data, graph
// replays over rotating buffers, medians of the ratios turn by turn.
//   default_choice --draw COUNT SEED     prints options of gemm_vs_cublaslt for random shapes, a line for
//   each
//                                        type: sizes log-uniform in 16 to 65536, at most 2^34 multiply-adds
//   default_choice FILE                  times the problems of such a file of records; needs a GPU
// Claim: the default choice has 0.9 of the tuned rate in 90 % of the cases, and never less than 0.7.
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <random>

#include "bench/bench.hpp"
#include "bench/gemm/gemm_suite.hpp"
#include "bench/gemm/random_shapes.hpp"
#include "bench/gemm/versus_table.hpp"
#include "ptxloom/runner.hpp"
#include "ptxloom/tuner.hpp"
#include "support/temporary_folder.hpp"
#include "tune/model/model.hpp"
#include "tune/worker/bench.hpp"

using namespace ptxloom;
using namespace ptxloom::bench;

namespace {

constexpr int kTurns = 9;
constexpr std::array<std::string_view, 3> kTypes = {"bf16", "e4m3", "s8"};

void draw(int count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::map<std::string_view, std::string> shapes;
  for (int i = 0; i < count; ++i) {
    const Shape shape = draw_shape(random);
    std::string& list = shapes[kTypes[static_cast<std::size_t>(i) % kTypes.size()]];
    list += fmt::format("{}{}x{}x{}", list.empty() ? "" : ",", shape[0], shape[1], shape[2]);
  }
  for (const auto& [type, list] : shapes) fmt::print("--types {} --shapes {}\n", type, list);
}

/// A configuration of a problem on the device.
struct Entry {
  Settings config;
  double predicted_us = 0;
  std::unique_ptr<tune::Bench::Loaded> loaded = {};
  std::vector<double> us = {};
};

class Case {
 public:
  Case(const Context& ctx, const Settings& problem)
      : ctx_(ctx),
        what_(tunable(ctx, gemm_template(), {.problem = problem})),
        task_{.tensors = make_tensors(gemm_template(), problem, {}, 1), .expected = {}},
        bench_(tune::make_gpu_bench(ctx.device_context(), task_)) {}
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;
  const Settings& default_config() const { return what_.standard; }

  std::size_t add(const Settings& config) {
    const tune::Chip chip = tune::chip_of(ctx_.target(), ctx_.device());
    const Specialised made = specialise(ctx_, gemm_template(), what_.problem, config);
    const auto cubin = made.kernels.front().cubin();
    Entry entry{.config = made.config,
                .predicted_us = tune::predict(what_.space.demand(made.config), chip).us};
    entry.loaded =
        bench_->load({.ptx = {}, .cubin = {cubin.begin(), cubin.end()}, .launches = made.launches});
    bench_->run(*entry.loaded);
    entries_.push_back(std::move(entry));
    return entries_.size() - 1;
  }
  void time() {
    for (int turn = 0; turn < kTurns; ++turn)
      for (Entry& entry : entries_) entry.us.push_back(bench_->time_us(*entry.loaded));
  }
  const Entry& operator[](std::size_t index) const { return entries_[index]; }
  /// The rate of one in that of the first, turn by turn.
  double rate(std::size_t index) const {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < entries_[index].us.size(); ++i)
      ratios.push_back(entries_[0].us[i] / entries_[index].us[i]);
    return median(ratios);
  }

 private:
  const Context& ctx_;
  Tunable what_;
  tune::Task task_;  // the bench refers to it
  std::unique_ptr<tune::Bench> bench_;
  std::vector<Entry> entries_;
};

/// The record of the most similar problem among the other lines.
std::optional<Record> nearest_of_others(const Context& ctx, const std::vector<nlohmann::json>& lines,
                                        const nlohmann::json& own) {
  const TemporaryFolder folder;
  const Records records(folder.path());
  for (const nlohmann::json& line : lines) {
    if (&line == &own || !line.contains("config")) continue;
    records.add({.device = device_key(ctx),
                 .kernel_template = "gemm",
                 .problem = line.at("problem").get<Settings>(),
                 .config = line.at("config").get<Settings>(),
                 .time_us = line.at("us")});
  }
  return records.nearest(device_key(ctx), "gemm", own.at("problem").get<Settings>());
}

void print_rates(const char* name, std::vector<double> rates) {
  if (rates.empty()) return;
  std::ranges::sort(rates);
  double logarithms = 0;
  for (const double rate : rates) logarithms += std::log(rate);
  const auto good = std::ranges::count_if(rates, [](double rate) { return rate >= 0.9; });
  fmt::print("{}: geometric mean {:.3f} of the tuned rate, at least 0.9 in {} of {}, worst {:.2f}\n", name,
             std::exp(logarithms / static_cast<double>(rates.size())), good, rates.size(), rates.front());
}

void compare(const std::string& file) {
  const std::vector<nlohmann::json> lines = read_lines(file);
  const TemporaryFolder no_records;
  const Context ctx({.device = "gpu", .records_folder = no_records.path()});
  std::vector<double> chosen, borrowed;
  fmt::print(
      "| type | shape | tuned us | default | borrowed | predicted us: tuned, default, borrowed | tuned "
      "configuration | default configuration |\n|---|---|---|---|---|---|---|---|\n");
  for (const nlohmann::json& line : lines) {
    if (!line.contains("config")) continue;
    const Settings problem = line.at("problem").get<Settings>();
    Case one(ctx, problem);
    one.add(line.at("config").get<Settings>());
    one.add(one.default_config());
    const auto near = nearest_of_others(ctx, lines, line);
    std::optional<std::size_t> lent;
    try {
      if (near) lent = one.add(near->config);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::refused) throw;
    }
    one.time();
    chosen.push_back(one.rate(1));
    if (lent) borrowed.push_back(one.rate(*lent));
    fmt::print("| {} | {} | {:.2f} | {:.2f} | {} | {:.1f}, {:.1f}, {} | {} | {} |\n", problem.at("a"),
               shape_of(line), median(one[0].us), one.rate(1),
               lent ? fmt::format("{:.2f}", one.rate(*lent)) : "refused", one[0].predicted_us,
               one[1].predicted_us, lent ? fmt::format("{:.1f}", one[*lent].predicted_us) : "-",
               config_of(line), config_of({{"config", one[1].config}}));
    std::fflush(stdout);
  }
  print_rates("default", std::move(chosen));
  print_rates("borrowed", std::move(borrowed));
}

}  // namespace

int main(int argc, char** argv) try {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 3 && words[0] == "--draw")
    draw(std::stoi(words[1]), std::stoull(words[2]));
  else if (words.size() == 1)
    compare(words[0]);
  else
    fmt::print("default_choice --draw COUNT SEED | FILE\n");
  return 0;
} catch (const Error& error) {
  fmt::print(stderr, "{}\n", error.what());
  return error.kind() == ErrorKind::missing ? 0 : static_cast<int>(error.kind());  // ./dev bench runs it
}
