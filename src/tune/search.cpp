// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

#include "ptxloom/tune.hpp"
#include "tune/feeder.hpp"
#include "tune/workbench.hpp"

namespace ptxloom {

Budget parse_budget(std::string_view text) {
  const auto bad = [&] {
    return Error(ErrorKind::usage, "bad-budget", fmt::format("'{}' is no budget", text),
                 "give seconds (30) or a number of evaluations (200evals)");
  };
  const bool evaluations = text.ends_with("evals");
  const std::string_view number = evaluations ? text.substr(0, text.size() - 5) : text;
  double value = 0;
  const auto [stop, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc() || stop != number.data() + number.size() || !(value > 0) || value > 1e9)
    throw bad();
  if (!evaluations) return {.seconds = value};
  if (value < 1 || value != static_cast<double>(static_cast<std::uint64_t>(value))) throw bad();
  return {.evaluations = static_cast<std::uint64_t>(value)};
}

namespace tune {
namespace {

constexpr std::size_t kFinalists = 4;
constexpr int kFinalRounds = 15;
constexpr double kReplayUs = 2000;   // a graph replay is long enough for the clock of events
constexpr double kFirstPhase = 0.8;  // of the seconds, for trying candidates; the rest is for the finalists

struct Statistics {
  double median = 0;
  double spread = 0;
};

Statistics statistics(std::vector<double> times) {
  std::ranges::sort(times);
  const auto at = [&](double part) {
    return times[static_cast<std::size_t>(part * static_cast<double>(times.size() - 1))];
  };
  return {.median = at(0.5), .spread = (at(0.75) - at(0.25)) / at(0.5)};
}

struct Contender {
  Measurement measurement;
  Lap lap;
};

class Search {
 public:
  Search(const DeviceContext& device, const Linker& linker, const Task& task, const Source& source,
         const SearchOptions& options)
      : options_(options), bench_(device, task), feeder_(linker, source, options.target, options.jobs) {}

  SearchResult run() {
    try {
      while (!done()) {
        std::optional<Linked> linked = feeder_.next();
        if (!linked) break;
        try_one(std::move(*linked));
      }
      play_final();
    } catch (const Error& error) {
      if (error.diagnostics().front().code != "device-fault") throw;
      result_.fault = error.diagnostics().front();
    }
    for (Contender& contender : contenders_) result_.measured.push_back(std::move(contender.measurement));
    const auto failed =
        std::ranges::stable_partition(result_.measured, [](const Measurement& m) { return !m.problem; });
    std::ranges::stable_sort(result_.measured.begin(), failed.begin(), {}, &Measurement::time_us);
    return std::move(result_);
  }

 private:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

  bool done() {
    result_.interrupted = options_.stop != nullptr && options_.stop->load();
    const Budget& budget = options_.budget;
    return result_.interrupted || (budget.seconds > 0 && seconds() > kFirstPhase * budget.seconds) ||
           (budget.evaluations > 0 && result_.evaluations >= budget.evaluations);
  }

  void try_one(Linked linked) {
    ++result_.evaluations;
    Measurement measurement{.config = linked.candidate.config, .resources = linked.resources};
    measurement.problem = std::move(linked.problem);
    try {
      if (!measurement.problem) measure(linked.candidate, measurement);
    } catch (const Error& error) {
      if (error.diagnostics().front().code == "device-fault") throw;
      measurement.problem = error.diagnostics().front();
    }
    if (!measurement.problem) return;
    report(measurement);
    result_.measured.push_back(std::move(measurement));
  }

  void measure(const Candidate& candidate, Measurement& measurement) {
    const Function function = bench_.load(candidate);
    const Verdict verdict = bench_.verify(function, candidate.launch);
    if (!verdict.ok()) {
      const std::string why =
          verdict.wrong != 0
              ? fmt::format("{} of {} elements are wrong: {}", verdict.wrong, verdict.checked, verdict.first)
              : fmt::format("{} elements were never written", verdict.unwritten.size());
      measurement.problem = Diagnostic{.code = "wrong-result", .message = why};
      return;
    }
    Lap lap = bench_.record(function, candidate.launch, kReplayUs);
    std::vector<double> times;
    for (int i = 0; i < 5; ++i) times.push_back(bench_.time_us(lap));
    const Statistics found = statistics(std::move(times));
    measurement.time_us = found.median;
    measurement.spread = found.spread;
    contenders_.push_back({.measurement = measurement, .lap = std::move(lap)});
    std::ranges::stable_sort(contenders_, {}, [](const Contender& c) { return c.measurement.time_us; });
    if (contenders_.size() > kFinalists) {
      result_.measured.push_back(std::move(contenders_.back().measurement));
      contenders_.pop_back();
    }
    report(measurement);
  }

  void report(const Measurement& latest) const {
    if (!options_.progress) return;
    const Measurement* best = contenders_.empty() ? nullptr : &contenders_.front().measurement;
    options_.progress({.evaluations = result_.evaluations, .latest = latest, .best = best});
  }

  /// The best few in turns, so that a clock that drifts meets them all alike.
  void play_final() {
    if (contenders_.empty()) return;
    std::vector<std::vector<double>> times(contenders_.size());
    for (int round = 0; round < kFinalRounds; ++round) {
      for (std::size_t i = 0; i < contenders_.size(); ++i)
        times[i].push_back(bench_.time_us(contenders_[i].lap));
      const bool late = options_.budget.seconds > 0 && seconds() > options_.budget.seconds;
      if (round >= 2 && (late || result_.interrupted)) break;
    }
    for (std::size_t i = 0; i < contenders_.size(); ++i) {
      const Statistics found = statistics(std::move(times[i]));
      contenders_[i].measurement.time_us = found.median;
      contenders_[i].measurement.spread = found.spread;
    }
  }

  const SearchOptions& options_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  Workbench bench_;
  SearchResult result_;
  std::vector<Contender> contenders_;  // the fastest so far, in order
  Feeder feeder_;                      // its threads end before what they fill goes
};

}  // namespace

const Measurement* SearchResult::best() const {
  return measured.empty() || measured.front().problem ? nullptr : &measured.front();
}

SearchResult search(const DeviceContext& device, const Linker& linker, const Task& task, const Source& source,
                    const SearchOptions& options) {
  return Search(device, linker, task, source, options).run();
}

}  // namespace tune
}  // namespace ptxloom
