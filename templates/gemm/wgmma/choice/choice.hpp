// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/config/config.hpp"

// Which configurations of wgmma a problem admits, ranked by estimated time: waves of tiles over the chip,
// each as long as its products or its loads take, whichever is longer, plus an epilogue; with stream-K a
// share of all k-blocks.
namespace ptxloom::gemm_kernel::wgmma {

/// Configurations with the wgmma of `base` that fit and agree with the given parameters, most promising
/// first.
std::vector<Config> admissible_configs(const ParameterSpace& space, const Target& target,
                                       const Problem& problem, const Settings& given, const Config& base);

}  // namespace ptxloom::gemm_kernel::wgmma
