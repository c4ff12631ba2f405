// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "ptxloom/tune.hpp"
#include "tune/feeder.hpp"
#include "tune/finalists.hpp"
#include "tune/statistics.hpp"
#include "tune/strategy.hpp"

namespace ptxloom::tune {
namespace {

constexpr double kFirstPhase = 0.85;  // of the seconds, for trying candidates; the rest is for the finalists

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

class Search {
 public:
  Search(const Admissible& space, const Target& target, const Maker& make, const Linker* linker,
         Measurer& measurer, const SearchOptions& options)
      : space_(space),
        options_(options),
        measurer_(measurer),
        picker_(make_picker(space, target, options)),
        feeder_(make, linker,
                {.code = measurer.code(),
                 .target = std::string(target.name()),
                 .jobs = options.jobs,
                 .limit = std::chrono::duration<double>(options.link_seconds)}) {}

  SearchResult run() {
    put_first();
    try {
      while (!done()) {
        top_up();
        std::optional<Made> made = feeder_.take(options_.stop);
        if (!made) break;
        try_one(std::move(*made));
      }
      done();  // was it `stop` that ended it?
      end_game();
    } catch (const Error& error) {
      result_.fault = error.diagnostics().front();
    }
    if (const Finalists::One* best = finalists_.best()) {
      result_.winner = best->candidate;
      result_.kernel = best->code;
      result_.candidates[best->candidate].time_us = best->time_us;
    }
    result_.seconds = seconds_since(begin_);
    if (first_s_ > 0 && result_.seconds > first_s_)
      result_.device_busy = std::min(1.0, busy_us_ * 1e-6 / (result_.seconds - first_s_));
    return std::move(result_);
  }

 private:
  bool done() {
    result_.interrupted = options_.stop != nullptr && options_.stop->load();
    const Budget& budget = options_.budget;
    return result_.interrupted ||
           (budget.seconds > 0 && seconds_since(begin_) > kFirstPhase * budget.seconds) ||
           (budget.evaluations > 0 && result_.evaluations >= budget.evaluations);
  }

  void put_first() {
    for (const Settings& config : options_.first) {
      const std::size_t index = space_.find(config);
      if (index == space_.size()) continue;
      picker_->skip(index);
      feeder_.put({.index = index}, config);
    }
  }

  void top_up() {
    while (feeder_.under_way() < feeder_.capacity()) {
      const std::uint64_t most = options_.budget.evaluations;
      if (most > 0 && result_.evaluations + feeder_.under_way() >= most) return;
      const std::optional<Pick> pick = picker_->next();
      if (!pick) return;
      feeder_.put(*pick, space_.settings(pick->index));
    }
  }

  void try_one(Made made) {
    ++result_.evaluations;
    Measurement measurement{.config = made.config,
                            .predicted_us = made.pick.predicted_us,
                            .link_ms = made.link_ms,
                            .demand = space_.demand(made.pick.index),
                            .resources = made.resources,
                            .problem = std::move(made.problem)};
    if (!measurement.problem) measure(made, measurement);
    measurement.at_s = seconds_since(begin_);
    if (first_s_ == 0) first_s_ = measurement.at_s, busy_us_ = 0;
    picker_->tell(made.pick.index, measurement.problem ? std::nullopt : std::optional(measurement.time_us));
    result_.candidates.push_back(measurement);
    if (!measurement.problem) keep(std::move(made), measurement);
    if (options_.progress) {
      const Finalists::One* best = finalists_.best();
      options_.progress({.evaluations = result_.evaluations,
                         .latest = result_.candidates.back(),
                         .best = best == nullptr ? nullptr : &result_.candidates[best->candidate]});
    }
  }

  void measure(const Made& made, Measurement& measurement) {
    Reading reading =
        measurer_.measure({.config = made.config, .candidate = made.candidate, .samples = made.pick.samples});
    see(reading);
    if (reading.restarted)
      result_.restarts.push_back({.at_s = seconds_since(begin_),
                                  .candidate = result_.candidates.size(),
                                  .why = reading.problem ? reading.problem->message : ""});
    measurement.samples = static_cast<int>(reading.us.size());
    measurement.problem = std::move(reading.problem);
    if (!measurement.problem && reading.us.empty())
      measurement.problem = Diagnostic{.code = "no-time", .message = "it was given no time"};
    if (measurement.problem) {
      if (measurement.problem->code == "wrong-result" && options_.save_wrong)
        measurement.saved = options_.save_wrong(measurement, made.candidate);
      return;
    }
    const Statistics own = statistics(reading.us);
    measurement.time_us = own.median;
    measurement.spread = own.spread;
    // What the rival takes now, against what it took when it became the best: the drift of the clock.
    const Finalists::One* rival = finalists_.best();
    if (rival != nullptr && reading.rival_us.size() == reading.us.size()) {
      for (std::size_t i = 0; i < reading.us.size(); ++i) reading.us[i] /= reading.rival_us[i];
      measurement.time_us = statistics(reading.us).median * rival->time_us;
    }
    check_limit(measurement);
  }

  void check_limit(Measurement& measurement) const {
    if (measurement.time_us >= options_.least_us) return;
    measurement.problem =
        Diagnostic{.code = "mis-measured",
                   .message = fmt::format("{:.3f} us is faster than the chip's limits allow, {:.3f} us",
                                          measurement.time_us, options_.least_us),
                   .hint = "the kernel may not do its work when it is timed"};
  }

  void keep(Made made, const Measurement& measurement) {
    const bool best = finalists_.best() == nullptr || measurement.time_us < finalists_.best()->time_us;
    finalists_.offer({.candidate = result_.candidates.size() - 1,
                      .time_us = measurement.time_us,
                      .config = std::move(made.config),
                      .code = std::move(made.candidate)});
    if (!best) return;
    const Trial rival{.config = finalists_.best()->config, .candidate = finalists_.best()->code};
    measurer_.set_rival(&rival);
  }

  void see(const Reading& reading) {
    busy_us_ += reading.busy_us;
    if (reading.health) result_.health.push_back({.at_s = seconds_since(begin_), .health = *reading.health});
  }

  void end_game() {
    const auto late = [&] {
      const bool stopped = options_.stop != nullptr && options_.stop->load();
      return stopped || (options_.budget.seconds > 0 && seconds_since(begin_) > options_.budget.seconds);
    };
    result_.final = finalists_.play(measurer_, late, [&](const Reading& reading) { see(reading); });
  }

  const Admissible& space_;
  const SearchOptions& options_;
  Measurer& measurer_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  double first_s_ = 0, busy_us_ = 0;
  SearchResult result_;
  Finalists finalists_;
  std::unique_ptr<Picker> picker_;
  Feeder feeder_;
};

class GivenTimes : public Measurer {
 public:
  explicit GivenTimes(std::function<double(const Settings&)> time_us) : time_us_(std::move(time_us)) {}

  Reading measure(const Trial& trial) override {
    Reading reading;
    try {
      reading.us.assign(static_cast<std::size_t>(trial.samples), time_us_(trial.config));
      if (rival_) reading.rival_us.assign(reading.us.size(), *rival_);
    } catch (const Error& error) {
      reading.problem = error.diagnostics().front();
      reading.us.clear();
    } catch (const std::exception& error) {
      reading.problem = Diagnostic{.code = "candidate-failed", .message = error.what()};
    }
    return reading;
  }
  void set_rival(const Trial* rival) override {
    rival_ = rival == nullptr ? std::nullopt : std::optional(time_us_(rival->config));
  }
  Code code() const override { return Code::none; }

 private:
  std::function<double(const Settings&)> time_us_;
  std::optional<double> rival_;
};

}  // namespace

std::unique_ptr<Measurer> make_measurer(std::function<double(const Settings&)> time_us) {
  return std::make_unique<GivenTimes>(std::move(time_us));
}

SearchResult search(const Admissible& space, const Target& target, const Maker& make, const Linker* linker,
                    Measurer& measurer, const SearchOptions& options) {
  return Search(space, target, make, linker, measurer, options).run();
}

}  // namespace ptxloom::tune
