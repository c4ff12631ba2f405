// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// \file
/// Functions that an epilogue applies to each element.
namespace [[gnu::visibility("default")]] ptxloom {

/// The function that an epilogue applies to each element.
enum class Activation : std::uint8_t {
  none,       ///< x
  relu,       ///< max(x, 0)
  gelu,       ///< x * Phi(x), Phi being the cumulative normal distribution
  gelu_tanh,  ///< the approximation of gelu by tanh
  silu,       ///< x / (1 + exp(-x))
};

}  // namespace ptxloom
