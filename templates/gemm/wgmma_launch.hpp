// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "wgmma_plan.hpp"

// The launch of a kernel of strategy wgmma, and how the kernel addresses D.
namespace ptxloom::gemm_kernel {

/// Whether TMA stores D; whether threads store it, all or the shared tiles.
bool by_copies(const Config& config, const WgmmaPlan& plan);
bool by_pointer(const Config& config, const WgmmaPlan& plan);
/// The parameter with D's tensor map. If there is a pointer too, that is "d".
const char* map_of_d(const Config& config);
/// The matrices of batches that a kernel addresses by pointer.
std::vector<std::string_view> pointers(const Problem& problem, const Config& config, const WgmmaPlan& plan);

/// `problem`: as given; `seen`: as the configuration sees it.
LaunchPlan wgmma_launch(const Problem& problem, const Problem& seen, const Config& config,
                        const WgmmaPlan& plan);

}  // namespace ptxloom::gemm_kernel
