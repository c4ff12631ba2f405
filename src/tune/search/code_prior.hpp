// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tune/search/feeder.hpp"

// Combines the strategy's prediction of a candidate's time with the one from its machine code. The
// measurements show by which factor the latter is off (the median), and how much its error varies. The
// logarithms of the two predictions are averaged, weighted by the inverse of their variances.
namespace ptxloom::tune {

class CodePrior {
 public:
  void tell(double code_us, double time_us);
  /// The combined prediction in microseconds; 0 if the strategy has none, as for configurations that are to
  /// be tried first.
  double expected(const Made& made) const;

 private:
  std::vector<double> errors_;  // logarithms of measured over predicted
  double factor_ = 0, variance_ = 0;
};

/// Spearman's rank correlation; equal values share their ranks. 0 if one side is all equal.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

/// How well a model's predictions ordered the measured candidates. Times are in microseconds.
Ranking ranking_of(std::string model, const std::vector<double>& predicted,
                   const std::vector<double>& measured);

}  // namespace ptxloom::tune
