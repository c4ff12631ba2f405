// SPDX-License-Identifier: Apache-2.0
// Does a search end sooner with the issue model? Tunes gemm with and without it (TuneOptions::issue_model),
// with the same seeds, and prints after how many measured candidates each search was near the best of both.
//
//   issue_prior all|parameter=value ... [--evals 60] [--seeds 3] [--device gpu]
//
// The parameters are those of the problem; `all` is four problems. Records are left out: each search begins
// without any. It needs a GPU; with `--device cpu` the executor's times are taken, which say nothing of a
// chip.
#include <fmt/format.h>

#include <filesystem>
#include <limits>

#include "bench/bench.hpp"
#include "ptxloom/tuner.hpp"
#include "support/temporary_folder.hpp"

using namespace ptxloom;

namespace {

constexpr const char* kUsage = "issue_prior all|parameter=value ... [--evals 60] [--seeds 3] [--device gpu]";

struct Options {
  std::uint64_t evaluations = 60, seeds = 3;
  std::string device = "gpu";
  std::vector<Settings> problems;
};

Options read_options(int argc, char** argv) {
  Options options;
  Settings problem;
  bool all = false;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&] {
      if (i + 1 == argc) throw Error(ErrorKind::usage, "bad-option", word + " needs a value", "");
      return std::string(argv[++i]);
    };
    if (word == "--evals")
      options.evaluations = std::stoull(value());
    else if (word == "--seeds")
      options.seeds = std::stoull(value());
    else if (word == "--device")
      options.device = value();
    else if (word == "all")
      all = true;
    else if (const auto equals = word.find('='); equals != word.npos)
      problem[word.substr(0, equals)] = word.substr(equals + 1);
    else
      throw Error(ErrorKind::usage, "bad-option", "unknown option " + word, kUsage);
  }
  if (!problem.empty()) options.problems = {problem};
  if (all)
    options.problems = {{{"m", "4096"}, {"n", "4096"}, {"k", "4096"}, {"a", "bf16"}},
                        {{"m", "256"}, {"n", "8192"}, {"k", "8192"}, {"a", "bf16"}},
                        {{"m", "2048"}, {"n", "5760"}, {"k", "2880"}, {"a", "e4m3"}},
                        {{"m", "1023"}, {"n", "4100"}, {"k", "2048"}, {"a", "f16"}}};
  return options;
}

/// The least time after each measured candidate, in microseconds.
std::vector<double> course_of(const tune::SearchResult& search) {
  std::vector<double> course;
  double best = std::numeric_limits<double>::infinity();
  for (const tune::Measurement& one : search.candidates) {
    if (one.time_us <= 0 || one.problem) continue;
    best = std::min(best, one.time_us);
    course.push_back(best);
  }
  return course;
}

/// How many candidates it took to come within a part of the best; one more than there are if it never did.
std::size_t until(const std::vector<double>& course, double best, double part) {
  const auto at = std::ranges::find_if(course, [&](double time) { return time <= best * (1 + part); });
  return static_cast<std::size_t>(at - course.begin()) + 1;
}

tune::SearchResult search(const Options& options, const Settings& problem, std::uint64_t seed, bool model) {
  const TemporaryFolder records;
  const Context context({.device = options.device, .records_folder = records.path()});
  TuneOptions how{.problem = problem, .budget = {.evaluations = options.evaluations}, .seed = seed};
  how.issue_model = model;
  if (options.device == "cpu") how.devices = {"cpu"};
  return tune_template(context, gemm_template(), how).search;
}

std::string ranking_of(const tune::SearchResult& search, std::string_view model) {
  const auto found = std::ranges::find(search.rankings, model, &tune::Ranking::model);
  return found == search.rankings.end() ? "-" : fmt::format("{:.2f}", found->correlation);
}

/// Two searches of one problem, and what they add to the means.
struct Sums {
  double without = 0, with = 0, rate = 0;
  int count = 0;

  void run(const Options& options, const Settings& problem, std::uint64_t seed) {
    const tune::SearchResult plain = search(options, problem, seed, false),
                             model = search(options, problem, seed, true);
    const std::vector<double> first = course_of(plain), second = course_of(model);
    if (first.empty() || second.empty()) {
      fmt::print("{:28} no candidate had a time\n", text_of(problem));
      return;
    }
    const double best = std::min(first.back(), second.back());
    fmt::print("{:28} {:4} {:10.2f} {:10.2f} {:6} {:6} {:6} {:6} {:>8} {:>8}\n", text_of(problem), seed,
               first.back(), second.back(), until(first, best, 0.05), until(second, best, 0.05),
               until(first, best, 0.02), until(second, best, 0.02), ranking_of(model, "cost model"),
               ranking_of(model, "machine code"));
    without += static_cast<double>(until(first, best, 0.05));
    with += static_cast<double>(until(second, best, 0.05));
    rate += first.back() / second.back();
    ++count;
  }

  static std::string text_of(const Settings& problem) {
    std::string text;
    for (const auto& [name, value] : problem) text += (text.empty() ? "" : " ") + name + "=" + value;
    return text;
  }
};

}  // namespace

int main(int argc, char** argv) try {
  const Options options = read_options(argc, argv);
  if (options.problems.empty()) {
    fmt::print("{}\n", kUsage);
    return 0;
  }
  fmt::print("{:28} {:>4} {:>21} {:>13} {:>13} {:>17}\n", "", "", "best, us", "until 5 %", "until 2 %",
             "rank correlation");
  fmt::print("{:28} {:>4} {:>10} {:>10} {:>6} {:>6} {:>6} {:>6} {:>8} {:>8}\n", "problem", "seed", "without",
             "with", "w/o", "with", "w/o", "with", "cost", "code");
  Sums sums;
  for (const Settings& problem : options.problems)
    for (std::uint64_t seed = 1; seed <= options.seeds; ++seed) sums.run(options, problem, seed);
  if (sums.count == 0) return 1;
  fmt::print(
      "mean: within 5 % of the best after {:.1f} candidates without the issue model, {:.1f} with it; "
      "its best are {:.3f} times as fast\n",
      sums.without / sums.count, sums.with / sums.count, sums.rate / sums.count);
  return 0;
} catch (const Error& error) {
  fmt::print(stderr, "{}\n", error.what());
  return exit_code(error.kind());
} catch (const std::exception& error) {
  fmt::print(stderr, "{}: {}\n", kUsage, error.what());
  return 2;
}
