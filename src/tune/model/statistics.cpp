// SPDX-License-Identifier: Apache-2.0
#include "tune/model/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace ptxloom::tune {

Statistics statistics(std::vector<double> values) {
  std::ranges::sort(values);
  const double last = static_cast<double>(values.size() - 1);
  const auto at = [&](double place) {
    return values[static_cast<std::size_t>(std::clamp(place, 0.0, last))];
  };
  // The number of n values below the median is binomial: mean n/2, standard deviation sqrt(n)/2.
  const double reach = 1.96 * std::sqrt(static_cast<double>(values.size())) / 2;
  const double middle = last / 2;
  Statistics result{.median = values.size() % 2 == 1 ? at(middle) : (at(middle) + at(middle + 1)) / 2,
                    .low = at(std::floor(middle - reach)),
                    .high = at(std::ceil(middle + reach))};
  if (result.median != 0) result.spread = (at(0.75 * last) - at(0.25 * last)) / result.median;
  return result;
}

}  // namespace ptxloom::tune
