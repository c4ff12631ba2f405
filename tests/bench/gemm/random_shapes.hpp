// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
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

/// Sizes that models have: N and K are multiples of 8, 16, ... or 256. A third of the shapes have an M of 1
/// to 64, as in decoding, a third any M, and a third a multiple.
inline Shape draw_model_shape(std::mt19937_64& random) {
  std::uniform_real_distribution<double> decoding(0, 6), weights(7, 16);
  std::uniform_int_distribution<int> power(3, 8), third(0, 2);
  const auto draw = [&](auto& logarithm) {
    return static_cast<std::uint32_t>(std::lround(std::exp2(logarithm(random))));
  };
  const auto rounded = [&](std::uint32_t size) {
    const auto unit = 1U << power(random);
    return std::max(1U, (size + unit / 2) / unit) * unit;
  };
  const int kind = third(random);
  if (kind != 0) {
    const auto [m, n, k] = draw_shape(random);
    return {kind == 1 ? rounded(m) : m, rounded(n), rounded(k)};
  }
  for (;;) {
    const Shape shape{draw(decoding), rounded(draw(weights)), rounded(draw(weights))};
    if (std::uint64_t{shape[1]} * shape[2] <= 1U << 29) return shape;
  }
}

}  // namespace ptxloom::bench
