// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace ptxloom::tune {

/// Of at least one value.
struct Statistics {
  double median = 0;
  double spread = 0;         ///< between the quartiles, as a part of the median
  double low = 0, high = 0;  ///< the median lies between them with 95 % confidence, whatever the distribution
};
Statistics statistics(std::vector<double> values);

}  // namespace ptxloom::tune
