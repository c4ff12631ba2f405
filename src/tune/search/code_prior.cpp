// SPDX-License-Identifier: Apache-2.0
#include "tune/search/code_prior.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tune/model/statistics.hpp"

namespace ptxloom::tune {
namespace {

/// Before anything is measured, machine code counts as if that many candidates had been off so much.
constexpr double kAssumed = 4, kAssumedError = 0.2;

/// From 0 on; the mean of their places for equal values.
std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> ranks(values.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (std::size_t i = begin; i < end; ++i) ranks[order[i]] = static_cast<double>(begin + end - 1) / 2;
    begin = end;
  }
  return ranks;
}

}  // namespace

void CodePrior::tell(double code_us, double time_us) {
  errors_.push_back(std::log(time_us / code_us));
  factor_ = statistics(errors_).median;
  double sum = kAssumed * kAssumedError * kAssumedError;
  for (const double error : errors_) sum += (error - factor_) * (error - factor_);
  variance_ = sum / (kAssumed + static_cast<double>(errors_.size()));
}

double CodePrior::expected(const Made& made) const {
  const double own = made.pick.predicted_us;
  if (own <= 0 || made.code_us <= 0 || errors_.empty()) return own;
  const double uncertain = made.pick.deviation * made.pick.deviation;
  const double weight = uncertain / (uncertain + variance_);
  return std::exp((1 - weight) * std::log(own) + weight * (std::log(made.code_us) + factor_));
}

double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> x = ranks_of(a), y = ranks_of(b);
  const double mean = (static_cast<double>(x.size()) - 1) / 2;
  double both = 0, of_x = 0, of_y = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    both += (x[i] - mean) * (y[i] - mean);
    of_x += (x[i] - mean) * (x[i] - mean);
    of_y += (y[i] - mean) * (y[i] - mean);
  }
  return of_x > 0 && of_y > 0 ? both / std::sqrt(of_x * of_y) : 0;
}

Ranking ranking_of(std::string model, const std::vector<double>& predicted,
                   const std::vector<double>& measured) {
  const auto fastest = std::ranges::min_element(measured) - measured.begin();
  const double of_fastest = predicted[static_cast<std::size_t>(fastest)];
  const auto before = std::ranges::count_if(predicted, [&](double one) { return one < of_fastest; });
  return {.model = std::move(model),
          .candidates = measured.size(),
          .correlation = rank_correlation(predicted, measured),
          .place = static_cast<std::size_t>(before) + 1};
}

}  // namespace ptxloom::tune
