// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tune/feeder.hpp"

// Joins what the strategy expects of a candidate with what its machine code lets expect. The measurements say
// by which factor the latter is off in the middle, and how far it is off beside that; the two are averaged
// with the inverse of their variances as weights, in logarithms.
namespace ptxloom::tune {

class CodePrior {
 public:
  void tell(double code_us, double time_us);
  /// Microseconds; 0 if the strategy expects nothing, as of configurations that are to be tried first.
  double expected(const Made& made) const;

 private:
  std::vector<double> errors_;  // logarithms of measured over predicted
  double factor_ = 0, variance_ = 0;
};

/// Spearman's rank correlation; equal values share their ranks. 0 if one side is all equal.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

/// How well a prediction ordered what was measured: of each, microseconds.
Ranking ranking_of(std::string model, const std::vector<double>& predicted,
                   const std::vector<double>& measured);

}  // namespace ptxloom::tune
