// SPDX-License-Identifier: Apache-2.0
#include "gemm/config/strategy.hpp"

#include <algorithm>
#include <array>

#include "gemm/mma_sync/strategy.hpp"
#include "gemm/wgmma/strategy.hpp"

namespace ptxloom::gemm_kernel {

std::span<const Strategy* const> strategies() {
  static const std::array<const Strategy*, 2> all = {&wgmma::strategy(), &mma_sync::strategy()};
  return all;
}

const Strategy& strategy_named(std::string_view name) {
  return **std::ranges::find(strategies(), name, &Strategy::name);
}

const Strategy& strategy_of(std::string_view shape) {
  return **std::ranges::find_if(strategies(), [&](const Strategy* one) { return one->owns(shape); });
}

}  // namespace ptxloom::gemm_kernel
