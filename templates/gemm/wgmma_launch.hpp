// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "wgmma_plan.hpp"

// The launch of a kernel of strategy wgmma, and by what it finds D.
namespace ptxloom::gemm_kernel {

/// Whether tensor copies store D; whether threads do, or what blocks share of it.
bool by_copies(const Config& config, const WgmmaPlan& plan);
bool by_pointer(const Config& config, const WgmmaPlan& plan);
/// The parameter with D's tensor map. Where there is a pointer too, that is "d".
const char* map_of_d(const Config& config);
/// The matrices of batches that a kernel finds by pointer.
std::vector<std::string_view> pointers(const Problem& problem, const Config& config, const WgmmaPlan& plan);

/// `problem` as it is given, `seen` as the configuration sees it.
LaunchPlan wgmma_launch(const Problem& problem, const Problem& seen, const Config& config,
                        const WgmmaPlan& plan);

}  // namespace ptxloom::gemm_kernel
