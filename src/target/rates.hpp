// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace ptxloom::target {

/// The peak rates of an SM per clock: a row of "rates" in specs/targets.json. 0 = it has no such unit.
struct ChipRates {
  int chip = 0;
  int f64 = 0, f32 = 0, tf32 = 0, f16 = 0, b8 = 0, b4 = 0;  ///< operations
  int shared = 0, l2 = 0;                                   ///< bytes

  /// Operations by column name; 0 for any other.
  int operations(std::string_view unit) const;
};

/// Null if the chip has no row.
const ChipRates* rates_of(int chip);

}  // namespace ptxloom::target
