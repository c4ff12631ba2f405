// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/strategy.hpp"

#include <array>

namespace ptxloom::scaled_gemm {

std::span<const Strategy* const> strategies() {
  static const std::array kAll{
      &block_scale::strategy(), &f8f6f4::strategy(), &dequantize::warpgroup_strategy(),
      &dequantize::strategy(),  &wgmma::strategy(),  &mma_sync::strategy()};
  return kAll;
}

}  // namespace ptxloom::scaled_gemm
