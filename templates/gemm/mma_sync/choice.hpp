// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/config/rules.hpp"
#include "ptxloom/kit/shared_layout.hpp"

// Which configurations of mma.sync a problem admits, and their resources.
namespace ptxloom::gemm_kernel::mma_sync {

inline constexpr int kRegisterLimit = 255;  // per thread, on every target
/// A stage of the pipeline: parts a, b.
kit::SharedLayout stage_layout(const Problem& problem, const Config& config);
/// Shared memory of a thread block: part tiles is all stages, or the staged result if larger; with stream-K
/// part division follows.
kit::SharedLayout shared_layout(const Problem& problem, const Config& config);
int shared_bytes(const Problem& problem, const Config& config);
/// Roughly the registers a thread needs.
int needed_registers(const Problem& problem, const Config& config);
/// The part of a configuration's demand that Strategy::demand is about.
void add_demand(const Target& target, const Problem& problem, const Config& config, tune::Demand& demand);
/// Configurations with the mma of `base` that are worth considering and agree with the given parameters.
std::vector<Config> admissible_configs(const ParameterSpace& space, const Target& target,
                                       const Problem& problem, const Settings& given, const Config& base);
std::vector<Rule> rules();

}  // namespace ptxloom::gemm_kernel::mma_sync
