// SPDX-License-Identifier: Apache-2.0
// Picks the most promising configuration next: the one with the largest expected improvement over the best
// time so far, according to the chip's model corrected by the measurements.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "tune/model/model.hpp"
#include "tune/search/strategy.hpp"
#include "tune/search/surrogate.hpp"

namespace ptxloom::tune {
namespace {

constexpr std::size_t kPool = 4096;    // configurations that are considered together
constexpr std::size_t kLearned = 600;  // measurements after which the model stops learning
constexpr double kFailed = 0.7;        // what a candidate without a time teaches: half as fast as expected

/// Maps a parameter's values to 0 to 1. Numbers keep their order; unordered values get one feature each.
struct Scale {
  std::size_t parameter = 0;
  std::vector<float> place;
};

bool is_number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

std::vector<Scale> scales_of(const std::vector<Parameter>& parameters) {
  std::vector<Scale> scales;
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const std::vector<std::string>& values = parameters[p].values;
    if (values.size() < 2) continue;
    if (std::ranges::all_of(values, is_number)) {
      Scale scale{.parameter = p};
      for (std::size_t v = 0; v < values.size(); ++v)
        scale.place.push_back(static_cast<float>(v) / static_cast<float>(values.size() - 1));
      scales.push_back(std::move(scale));
      continue;
    }
    for (std::size_t own = values.size() == 2 ? 1 : 0; own < values.size(); ++own) {
      Scale scale{.parameter = p, .place = std::vector<float>(values.size())};
      scale.place[own] = 1;
      scales.push_back(std::move(scale));
    }
  }
  return scales;
}

/// Maps `low` to `high` to about 0 to 1, logarithmically.
float on_scale(double value, double low, double high) {
  return static_cast<float>(std::log(std::max(value, low) / low) / std::log(high / low));
}

void append_features(const Demand& demand, const Prediction& prediction, std::vector<float>& features) {
  const double rounded = std::ceil(prediction.waves) / std::max(prediction.waves, 1e-3);
  features.push_back(on_scale(std::clamp(prediction.waves, 0.05, 50.0), 0.05, 50));
  features.push_back(on_scale(std::min(rounded, 8.0), 1, 8));  // unused slots
  features.push_back(on_scale(prediction.resident, 1, 16));
  features.push_back(on_scale(prediction.resident * std::max(demand.threads, 32), 32, 2048));
  features.push_back(static_cast<float>(prediction.waiting));
}

double normal_density(double x) { return 0.3989422804014327 * std::exp(-x * x / 2); }
double normal_below(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

double expected_improvement(double best, double mean, double deviation) {
  if (deviation <= 0) return std::max(0.0, best - mean);
  const double z = (best - mean) / deviation;
  return (best - mean) * normal_below(z) + deviation * normal_density(z);
}

class Guided : public Picker {
 public:
  Guided(const Admissible& space, const Target& target, const SearchOptions& options) {
    const Chip chip = chip_of(target, options.device);
    std::vector<Prediction> predictions;
    for (std::size_t i = 0; i < space.size(); ++i) predictions.push_back(predict(space.demand(i), chip));
    order_.resize(space.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::ranges::stable_sort(order_, {}, [&](std::size_t i) { return predictions[i].us; });
    place_.resize(space.size());
    const std::vector<Scale> scales = scales_of(space.parameters());
    const std::size_t pool = std::min(order_.size(), kPool);
    std::vector<float> features;
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const std::size_t index = order_[i];
      place_[index] = i;
      prior_.push_back(std::log(std::max(predictions[index].us, 1e-3)));
      if (i >= pool) continue;
      for (const Scale& scale : scales) features.push_back(scale.place[space.point(index)[scale.parameter]]);
      append_features(space.demand(index), predictions[index], features);
    }
    surrogate_ = Surrogate(std::move(features), pool == 0 ? 1 : features_of(scales));
    taken_.resize(order_.size());
  }

  std::optional<Pick> next() override {
    const std::optional<std::size_t> place = choose();
    if (!place) return std::nullopt;
    taken_[*place] = true;
    const bool learns = *place < surrogate_.size() && surrogate_.chosen() < kLearned;
    Surrogate::Belief belief;
    if (*place < surrogate_.size()) belief = surrogate_.belief(*place);
    if (learns) surrogate_.choose(*place);
    return Pick{.index = order_[*place],
                .predicted_us = std::exp(prior_[*place] + belief.mean),
                .deviation = belief.deviation};
  }

  void tell(std::size_t index, std::optional<double> time_us) override {
    const std::size_t place = place_[index];
    if (time_us) best_ = std::min(best_, std::log(*time_us));
    if (place >= surrogate_.size()) return;
    const double off = time_us ? std::log(*time_us) - prior_[place] : surrogate_.belief(place).mean + kFailed;
    surrogate_.tell(place, off);
  }

  void skip(std::size_t index) override {
    const std::size_t place = place_[index];
    taken_[place] = true;
    if (place < surrogate_.size() && surrogate_.chosen() < kLearned) surrogate_.choose(place);
  }

 private:
  static std::size_t features_of(const std::vector<Scale>& scales) { return scales.size() + 5; }

  std::optional<std::size_t> choose() const {
    std::optional<std::size_t> chosen;
    double most = -1;
    for (std::size_t place = 0; place < surrogate_.size(); ++place) {
      if (taken_[place]) continue;
      const auto [mean, deviation] = surrogate_.belief(place);
      // Before anything is measured: the model's order, diversified by what has been chosen.
      const double gain = std::isfinite(best_) ? expected_improvement(best_, prior_[place] + mean, deviation)
                                               : std::exp(-(prior_[place] + mean) + 0.5 * deviation);
      if (gain > most) most = gain, chosen = place;
    }
    if (chosen) return chosen;
    for (std::size_t place = surrogate_.size(); place < taken_.size(); ++place) {
      if (!taken_[place]) return place;
    }
    return std::nullopt;
  }

  std::vector<std::size_t> order_, place_;  // configurations ordered by the model's time, and the inverse
  std::vector<double> prior_;               // logarithms of the model's times, by position
  std::vector<bool> taken_;
  Surrogate surrogate_{{}, 1};
  double best_ = std::numeric_limits<double>::infinity();
};

}  // namespace

std::unique_ptr<Picker> make_guided(const Admissible& space, const Target& target,
                                    const SearchOptions& options) {
  return std::make_unique<Guided>(space, target, options);
}

}  // namespace ptxloom::tune
