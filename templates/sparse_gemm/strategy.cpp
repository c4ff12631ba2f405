// SPDX-License-Identifier: Apache-2.0
#include "sparse_gemm/strategy.hpp"

#include <array>

namespace ptxloom::sparse_gemm {

std::span<const Strategy* const> strategies() {
  static const std::array kAll{&wgmma::strategy(), &mma_sync::strategy()};
  return kAll;
}

}  // namespace ptxloom::sparse_gemm
