// SPDX-License-Identifier: Apache-2.0
// Successive halving: many configurations with one sample each, the best third of them with three, the best
// third of those with nine. After a bracket, the next starts with configurations not seen before.
#include <algorithm>
#include <numeric>
#include <random>

#include "tune/search/strategy.hpp"

namespace ptxloom::tune {
namespace {

constexpr std::size_t kPart = 3;
constexpr std::size_t kBracket = 81;  // if only seconds bound the search
constexpr int kMostSamples = 9;

class Halving : public Picker {
 public:
  Halving(std::size_t size, const SearchOptions& options) : fresh_(size), skipped_(size) {
    std::iota(fresh_.begin(), fresh_.end(), std::size_t{0});
    std::ranges::shuffle(fresh_, std::mt19937_64(options.seed));
    // n + n/3 + n/9 trials in total.
    const std::size_t trials = options.budget.evaluations;
    bracket_ = trials == 0 ? kBracket : std::max<std::size_t>(trials * 9 / 13, 1);
    begin_bracket();
  }

  std::optional<Pick> next() override {
    while (at_ < rung_.size() && skipped_[rung_[at_]]) ++at_;
    if (at_ == rung_.size() && awaited_ == 0) end_rung();
    if (at_ == rung_.size()) return std::nullopt;
    ++awaited_;
    return Pick{.index = rung_[at_++], .samples = samples_};
  }

  void tell(std::size_t index, std::optional<double> time_us) override {
    if (skipped_[index]) return;
    --awaited_;
    if (time_us) results_.emplace_back(*time_us, index);
  }
  void skip(std::size_t index) override { skipped_[index] = true; }

 private:
  void begin_bracket() {
    const std::size_t count = std::min(bracket_, fresh_.size());
    rung_.assign(fresh_.end() - static_cast<std::ptrdiff_t>(count), fresh_.end());
    fresh_.resize(fresh_.size() - count);
    samples_ = 1;
    at_ = 0;
    results_.clear();
  }

  void end_rung() {
    if (samples_ >= kMostSamples || results_.size() < kPart) return begin_bracket();
    std::ranges::sort(results_);
    rung_.clear();
    for (std::size_t i = 0; i < results_.size() / kPart; ++i) rung_.push_back(results_[i].second);
    samples_ *= static_cast<int>(kPart);
    at_ = 0;
    results_.clear();
  }

  std::vector<std::size_t> fresh_;
  std::vector<bool> skipped_;
  std::vector<std::size_t> rung_;
  std::vector<std::pair<double, std::size_t>> results_;
  std::size_t bracket_ = 0, at_ = 0, awaited_ = 0;
  int samples_ = 1;
};

}  // namespace

std::unique_ptr<Picker> make_halving(std::size_t size, const SearchOptions& options) {
  return std::make_unique<Halving>(size, options);
}

}  // namespace ptxloom::tune
