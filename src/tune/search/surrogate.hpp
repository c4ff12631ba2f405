// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

// Predicts points not yet measured: a Gaussian process over the features of a fixed set of points. Its
// covariance adds a level, a trend along each feature, an effect of each feature alone, and one of all
// features together, so that few measurements teach the single effects and more teach their interactions.
// Points may be chosen before the values of earlier ones are known; these then count with their expected
// values.
namespace ptxloom::tune {

class Surrogate {
 public:
  /// `features`: the points in sequence, `width` values each, on a scale of about 0 to 1.
  Surrogate(std::vector<float> features, std::size_t width);

  std::size_t size() const { return points_; }
  /// From now on a value is expected for this point.
  void choose(std::size_t point);
  /// Reports the value of a chosen point.
  void tell(std::size_t point, double value);

  struct Belief {
    double mean = 0, deviation = 0;
  };
  Belief belief(std::size_t point) const;
  std::size_t chosen() const { return rows_.size(); }

 private:
  struct Row {
    std::size_t point = 0;
    double value = 0;
    bool known = false;
    std::vector<double> factor;     // of the Cholesky decomposition
    std::vector<float> covariance;  // L^-1 K for all points
  };
  double covariance(std::size_t a, std::size_t b) const;
  void solve();

  std::vector<float> features_;
  std::size_t width_ = 0, points_ = 0;
  std::vector<Row> rows_;
  std::vector<double> variance_;  // remaining, by point
  std::vector<double> mean_;
};

}  // namespace ptxloom::tune
