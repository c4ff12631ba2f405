// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace ptxloom::tune {

/// For at least one value.
struct Statistics {
  double median = 0;
  double spread = 0;         ///< interquartile range, relative to the median
  double low = 0, high = 0;  ///< a 95 % confidence interval of the median, for any distribution
};
Statistics statistics(std::vector<double> values);

}  // namespace ptxloom::tune
