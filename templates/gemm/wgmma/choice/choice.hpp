// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/config/config.hpp"

// Which configurations of wgmma a problem admits, and what they demand of the chip.
namespace ptxloom::gemm_kernel::wgmma {

/// Configurations with the wgmma of `base` that are worth considering and agree with the given parameters.
std::vector<Config> admissible_configs(const ParameterSpace& space, const Target& target,
                                       const Problem& problem, const Settings& given, const Config& base);

/// The part of a configuration's demand that Strategy::demand is about.
void add_demand(const Target& target, const Problem& problem, const Config& config, tune::Demand& demand);

}  // namespace ptxloom::gemm_kernel::wgmma
