// SPDX-License-Identifier: Apache-2.0
#include "tune/search/surrogate.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ptxloom::tune {
namespace {

// Standard deviations of the components of the values, which are logarithms of measured over predicted times.
constexpr double kLevel = 1.0;     // the model's unit may be off by any factor
constexpr double kTrend = 0.3;     // along a feature
constexpr double kSingle = 0.25;   // of a feature alone
constexpr double kTogether = 0.2;  // of all features together
constexpr double kNoise = 0.02;
constexpr double kSingleReach = 0.35, kTogetherReach = 0.6;  // length scales of these effects

double square(double x) { return x * x; }

}  // namespace

Surrogate::Surrogate(std::vector<float> features, std::size_t width)
    : features_(std::move(features)), width_(width), points_(width == 0 ? 0 : features_.size() / width) {
  variance_.resize(points_);
  mean_.resize(points_);
  for (std::size_t i = 0; i < points_; ++i) variance_[i] = covariance(i, i);
}

double Surrogate::covariance(std::size_t a, std::size_t b) const {
  const float* x = features_.data() + a * width_;
  const float* y = features_.data() + b * width_;
  double trend = 0, single = 0, distance = 0;
  for (std::size_t i = 0; i < width_; ++i) {
    const double apart = square(static_cast<double>(x[i]) - static_cast<double>(y[i]));
    trend += (static_cast<double>(x[i]) - 0.5) * (static_cast<double>(y[i]) - 0.5);
    single += std::exp(-apart / (2 * square(kSingleReach)));
    distance += apart;
  }
  return square(kLevel) + square(kTrend) * trend + square(kSingle) * single / static_cast<double>(width_) +
         square(kTogether) * std::exp(-distance / (2 * square(kTogetherReach)));
}

void Surrogate::choose(std::size_t point) {
  Row row{.point = point, .value = mean_[point]};
  for (const Row& other : rows_) row.factor.push_back(static_cast<double>(other.covariance[point]));
  const double pivot = std::sqrt(std::max(variance_[point], 0.0) + square(kNoise));
  row.factor.push_back(pivot);
  std::vector<double> left(points_);
  for (std::size_t i = 0; i < points_; ++i) left[i] = covariance(point, i);
  for (std::size_t k = 0; k < rows_.size(); ++k) {
    for (std::size_t i = 0; i < points_; ++i)
      left[i] -= row.factor[k] * static_cast<double>(rows_[k].covariance[i]);
  }
  row.covariance.resize(points_);
  for (std::size_t i = 0; i < points_; ++i) {
    row.covariance[i] = static_cast<float>(left[i] / pivot);
    variance_[i] = std::max(0.0, variance_[i] - square(left[i] / pivot));
  }
  rows_.push_back(std::move(row));
}

void Surrogate::tell(std::size_t point, double value) {
  const auto row = std::ranges::find(rows_, point, &Row::point);
  if (row == rows_.end()) return;
  row->value = value;
  row->known = true;
  solve();
}

/// Forward substitution. An unknown value is predicted from those before it.
void Surrogate::solve() {
  std::ranges::fill(mean_, 0.0);
  std::vector<double> solved;
  for (const Row& row : rows_) {
    double rest = row.value;
    if (row.known) {
      for (std::size_t k = 0; k < solved.size(); ++k) rest -= row.factor[k] * solved[k];
      solved.push_back(rest / row.factor.back());
    } else {
      solved.push_back(0);
    }
  }
  for (std::size_t k = 0; k < solved.size(); ++k) {
    if (solved[k] == 0) continue;
    for (std::size_t i = 0; i < points_; ++i)
      mean_[i] += solved[k] * static_cast<double>(rows_[k].covariance[i]);
  }
}

Surrogate::Belief Surrogate::belief(std::size_t point) const {
  return {.mean = mean_[point], .deviation = std::sqrt(variance_[point])};
}

}  // namespace ptxloom::tune
