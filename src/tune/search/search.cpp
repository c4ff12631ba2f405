// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <utility>

#include "ptxloom/tune.hpp"
#include "tune/model/model.hpp"
#include "tune/model/statistics.hpp"
#include "tune/search/code_prior.hpp"
#include "tune/search/crew.hpp"
#include "tune/search/finalists.hpp"
#include "tune/search/helpers.hpp"
#include "tune/search/strategy.hpp"

namespace ptxloom::tune {
namespace {

constexpr double kFirstPhase = 0.85;  // fraction of the seconds for trying candidates; the rest is for the
                                      // finalists

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// The first device finds a correct candidate; with that, the other devices are checked to perform alike, or
/// excluded; then all share the candidates. A device of this process compares the best few.
class Search {
 public:
  Search(const Admissible& space, const Target& target, const Maker& make, const Linker* linker,
         std::span<Measurer* const> measurers, const SearchOptions& options)
      : space_(space),
        chip_(chip_of(target, options.device)),
        options_(options),
        picker_(make_picker(space, target, options)),
        crew_(measurers, make, linker,
              {.code = measurers.front()->code(),
               .target = std::string(target.name()),
               .jobs = options.jobs,
               .limit = std::chrono::duration<double>(options.link_seconds),
               .bell = bell_,
               .predict = prediction_of_code()},
              expectation()),
        helpers_(options, target, make, result_.devices) {
    for (const Measurer* measurer : measurers) result_.devices.push_back({.name = measurer->name()});
    crew_.take_on(0);
  }

  SearchResult run() {
    put_first();
    try {
      while (!done()) {
        top_up();
        std::optional<Tried> tried = next();
        if (!tried) break;
        take_in(std::move(*tried));
      }
      done();  // checks whether `stop` ended it
      end_game();
    } catch (const Error& error) {
      result_.fault = error.diagnostics().front();
    }
    helpers_.close();
    sum_up();
    if (options_.found) options_.found(result_);
    return std::move(result_);
  }

 private:
  std::function<std::optional<double>(const Candidate&, const Pick&)> prediction_of_code() const {
    if (!options_.code_model) return {};
    return [&model = options_.code_model, this](const Candidate& candidate, const Pick& pick) {
      return model(candidate, space_.demand(pick.index));
    };
  }

  /// Empty without a code model: candidates are then measured as they were picked.
  std::function<double(const Made&)> expectation() const {
    if (!options_.code_model) return {};
    return [this](const Made& made) { return code_prior_.expected(made); };
  }

  void sum_up() {
    if (const Finalists::One* best = finalists_.best()) {
      result_.winner = best->candidate;
      result_.kernel = best->code;
      result_.candidates[best->candidate].time_us = best->time_us;
    }
    result_.seconds = seconds_since(begin_);
    count_busy();
    add_ranking("cost model", [&](const Measurement& one) { return predict(one.demand, chip_).us; });
    add_ranking("machine code", [](const Measurement& one) { return one.code_us; });
  }

  void add_ranking(const char* model, const std::function<double(const Measurement&)>& predicted_us) {
    constexpr std::size_t kLeast = 3;
    std::vector<double> predicted, measured;
    for (const Measurement& one : result_.candidates) {
      const double us = one.problem ? 0 : predicted_us(one);
      if (us <= 0) continue;
      predicted.push_back(us);
      measured.push_back(one.time_us);
    }
    if (measured.size() >= kLeast) result_.rankings.push_back(ranking_of(model, predicted, measured));
  }

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
      crew_.put({.index = index}, config);
    }
  }

  /// Work that was given to a lost device goes to others.
  void hand_over() {
    std::vector<Given> returned = helpers_.returned();
    if (crew_.working() == 0 && helpers_.at_work())
      std::ranges::move(crew_.give_back(), std::back_inserter(returned));
    for (auto& [pick, config] : returned) {
      if (crew_.working() > 0 || !helpers_.at_work())
        crew_.put(pick, std::move(config));
      else
        helpers_.put(pick, config);
    }
  }

  std::size_t under_way() const { return crew_.under_way() + helpers_.under_way(); }

  /// Gives picks alternately to this process and to the others, until all have enough.
  void top_up() {
    hand_over();
    for (bool ours = true;; ours = !ours) {
      const std::uint64_t most = options_.budget.evaluations;
      if (most > 0 && result_.evaluations + under_way() >= most) return;
      const bool room_here = crew_.under_way() < crew_.capacity();
      if (!room_here && !helpers_.has_room()) return;
      const std::optional<Pick> pick = picker_->next();
      if (!pick) return;
      Settings config = space_.settings(pick->index);
      if (room_here && (ours || !helpers_.has_room()))
        crew_.put(*pick, std::move(config));
      else
        helpers_.put(*pick, config);
    }
  }

  /// nullopt at the end of the budget, or if nothing is in flight.
  std::optional<Tried> next() {
    const std::chrono::milliseconds patience(options_.ranks == nullptr ? 50 : 1);
    while (!done()) {
      if (std::optional<Tried> tried = crew_.take()) return tried;
      if (std::optional<Tried> tried = helpers_.take()) return tried;
      if (crew_.working() == 0 && !helpers_.hopeful()) throw Error(ErrorKind::refused, {*lost_});
      if (helpers_.has_room() || helpers_.has_returned()) top_up();  // one has started, or is gone
      if (under_way() == 0) break;
      bell_->wait(patience);
    }
    return std::nullopt;
  }

  void take_in(Tried tried) {
    if (tried.lost) return lose(tried);
    Made& made = tried.made;
    ++result_.evaluations;
    if (!made.problem) ++result_.devices[tried.device].evaluations;
    Measurement measurement{.config = made.config,
                            .predicted_us = made.pick.predicted_us,
                            .code_us = made.code_us,
                            .link_ms = made.link_ms,
                            .demand = space_.demand(made.pick.index),
                            .resources = made.resources,
                            .problem = made.problem,
                            .device = tried.device};
    if (!measurement.problem) weigh(tried, measurement);
    measurement.at_s = seconds_since(begin_);
    if (first_s_ == 0) first_s_ = measurement.at_s, busy_us_ = 0;
    if (!measurement.problem && made.code_us > 0) code_prior_.tell(made.code_us, measurement.time_us);
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

  /// The others continue without it.
  void lose(const Tried& tried) {
    lost_ = tried.lost;
    result_.devices[tried.device].left_out = lost_;
    if (!agreed_ && crew_.working() == 0 && first_ + 1 < crew_.size()) crew_.take_on(++first_);
  }

  /// Evaluates the reading.
  void weigh(Tried& tried, Measurement& measurement) {
    Reading& reading = tried.reading;
    see(reading, tried.device);
    if (reading.restarted)
      result_.restarts.push_back({.at_s = seconds_since(begin_),
                                  .candidate = result_.candidates.size(),
                                  .why = reading.problem ? reading.problem->message : ""});
    measurement.samples = static_cast<int>(reading.us.size());
    measurement.problem = std::move(reading.problem);
    if (!measurement.problem && reading.us.empty())
      measurement.problem = Diagnostic{.code = "no-time", .message = "the measurer returned no time"};
    if (measurement.problem) {
      if (measurement.problem->code == "wrong-result" && options_.save_wrong)
        measurement.saved = options_.save_wrong(measurement, tried.made.candidate);
      return;
    }
    const Statistics own = statistics(reading.us);
    measurement.time_us = own.median;
    measurement.spread = own.spread;
    // The rival's time now and on this device, relative to its time when it became the best: corrects for
    // clock drift and for differences between devices.
    if (tried.rival_us > 0 && reading.rival_us.size() == reading.us.size()) {
      for (std::size_t i = 0; i < reading.us.size(); ++i) reading.us[i] /= reading.rival_us[i];
      measurement.time_us = statistics(reading.us).median * tried.rival_us;
    }
    check_limit(measurement);
  }

  void check_limit(Measurement& measurement) const {
    if (measurement.time_us >= options_.least_us) return;
    measurement.problem =
        Diagnostic{.code = "mis-measured",
                   .message = fmt::format("{:.3f} us is less than the chip's limits allow, {:.3f} us",
                                          measurement.time_us, options_.least_us),
                   .hint = "check that the kernel does its work when it is timed"};
  }

  void keep(Made made, const Measurement& measurement) {
    const bool best = finalists_.best() == nullptr || measurement.time_us < finalists_.best()->time_us;
    finalists_.offer({.candidate = result_.candidates.size() - 1,
                      .time_us = measurement.time_us,
                      .config = std::move(made.config),
                      .code = std::move(made.candidate)});
    if (!best) return;
    if (options_.improved) options_.improved(measurement, result_.evaluations);
    const auto rival = std::make_shared<const Rival>(Rival{.config = finalists_.best()->config,
                                                           .code = finalists_.best()->code,
                                                           .time_us = finalists_.best()->time_us});
    if (!agreed_ && (crew_.size() > 1 || options_.ranks != nullptr)) agree(rival);
    crew_.set_rival(rival);
    helpers_.set_rival(rival);
  }

  /// The other devices start here, if they perform like the first.
  void agree(const std::shared_ptr<const Rival>& common) {
    const std::vector<Reading> readings = time_common(crew_, *common, options_.warm_up);
    if (readings[first_].problem) return;  // the first continues alone until it has a better one
    agreed_ = true;
    const double first_us = statistics(readings[first_].us).median;
    for (std::size_t i = first_; i < crew_.size(); ++i) {
      judge(result_.devices[i], readings[i], result_.devices[first_].name, first_us, options_.margin);
      if (!result_.devices[i].left_out) crew_.take_on(i);
    }
    helpers_.set_common(common, result_.devices[first_].name, first_us);
  }

  void see(const Reading& reading, std::size_t device) {
    busy_us_ += reading.busy_us;
    if (reading.health)
      result_.health.push_back({.at_s = seconds_since(begin_), .device = device, .health = *reading.health});
  }

  /// Runs on the first remaining device of this process. If there is none, or no time, the best stands as it
  /// is.
  void end_game() {
    helpers_.rest();
    const auto late = [&] {
      const bool stopped = options_.stop != nullptr && options_.stop->load();
      return stopped || (options_.budget.seconds > 0 && seconds_since(begin_) > options_.budget.seconds);
    };
    for (std::size_t device = 0; device < crew_.size() && !late(); ++device) {
      if (!crew_.at_work(device)) continue;
      try {
        result_.final =
            finalists_.play(crew_.rest(device), late, [&](const Reading& reading) { see(reading, device); });
        return result_.fault.reset();
      } catch (const Error& error) {
        crew_.leave_out(device);
        result_.devices[device].left_out = result_.fault = error.diagnostics().front();
      }
    }
  }

  void count_busy() {
    const auto used =
        std::ranges::count_if(result_.devices, [](const Share& one) { return one.evaluations > 0; });
    if (first_s_ <= 0 || result_.seconds <= first_s_ || used == 0) return;
    const double time_s = (result_.seconds - first_s_) * static_cast<double>(used);
    result_.device_busy = std::min(1.0, busy_us_ * 1e-6 / time_s);
  }

  const Admissible& space_;
  const Chip chip_;
  const SearchOptions& options_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  double first_s_ = 0, busy_us_ = 0;
  SearchResult result_;
  Finalists finalists_;
  std::size_t first_ = 0;           // the device that the others are compared with
  bool agreed_ = false;             // and they have been compared
  std::optional<Diagnostic> lost_;  // the last device of this process that was lost
  std::unique_ptr<Picker> picker_;
  CodePrior code_prior_;
  std::shared_ptr<Bell> bell_ = std::make_shared<Bell>();
  Crew crew_;
  Helpers helpers_;
};

}  // namespace

SearchResult search(const Admissible& space, const Target& target, const Maker& make, const Linker* linker,
                    std::span<Measurer* const> measurers, const SearchOptions& options) {
  if (measurers.empty())
    throw Error(ErrorKind::usage, "no-device", "a search needs at least one measurer", "give a measurer");
  return Search(space, target, make, linker, measurers, options).run();
}

SearchResult search(const Admissible& space, const Target& target, const Maker& make, const Linker* linker,
                    Measurer& measurer, const SearchOptions& options) {
  const std::array<Measurer*, 1> one = {&measurer};
  return search(space, target, make, linker, one, options);
}

}  // namespace ptxloom::tune
