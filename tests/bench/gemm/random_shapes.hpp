// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <random>

#include "bench/gemm/gemm_suite.hpp"

namespace ptxloom::bench {

/// Sizes that are log-uniform in 16 to 65536, with at most 2^34 multiply-adds.
inline Shape draw_shape(std::mt19937_64& random) {
  std::uniform_real_distribution<double> logarithm(4, 16);
  for (;;) {
    Shape shape;
    double products = 1;
    for (std::uint32_t& size : shape) {
      size = static_cast<std::uint32_t>(std::lround(std::exp2(logarithm(random))));
      products *= size;
    }
    if (products <= 0x1p34) return shape;
  }
}

}  // namespace ptxloom::bench
