// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/config/config.hpp"

// What the launches of all strategies have in common: one tile of D per thread block or cluster.
namespace ptxloom::gemm_kernel {

/// What a profiler shows: types, tile, strategy and stages, such as gemm_bf16_f32_128x256x64_wgmma_4stages.
std::string kernel_name(const Problem& problem, const Config& config);

/// The kernel argument for alpha or beta, by the problem's arithmetic type.
std::uint64_t scalar_bits(Type type, double value);

/// Grid and block. Throws Error(usage, "shape-too-large").
LaunchPlan tile_grid(const Problem& problem, const Config& config);

}  // namespace ptxloom::gemm_kernel
