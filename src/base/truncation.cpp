// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/truncation.hpp"

#include <algorithm>
#include <cmath>

namespace ptxloom {

double truncation_units(std::uint64_t products) {
  constexpr double kStep = 32;    // products of fp8 of an instruction
  constexpr double kAtOnce = 16;  // products that an addition takes at least: sm_89 adds halves of 32
  constexpr std::uint64_t kFew = 128;
  const std::uint64_t few = std::min(products, kFew);
  const auto others = static_cast<double>(products - few);
  return 4 * (std::ceil(static_cast<double>(few) / kStep) + 4) + 2 * std::sqrt(others) + others / kAtOnce / 2;
}

}  // namespace ptxloom
