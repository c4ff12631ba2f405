// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "gemm/wgmma/plan.hpp"

// The launch of a kernel of strategy wgmma, and how the kernel addresses D.
namespace ptxloom::gemm_kernel::wgmma {

/// Whether TMA stores D; whether threads store it, all or the shared tiles.
bool stores_by_tma(const Config& config, const Plan& plan);
bool stores_by_pointer(const Config& config, const Plan& plan);
/// The parameter with D's tensor map. If there is a pointer too, that is "d".
const char* map_of_d(const Config& config);
/// The matrices of batches that a kernel addresses by pointer.
std::vector<std::string_view> pointers(const Problem& problem, const Config& config, const Plan& plan);

/// `problem`: as given; `seen`: as the configuration sees it.
LaunchPlan launch_plan(const Problem& problem, const Problem& seen, const Config& config, const Plan& plan);

}  // namespace ptxloom::gemm_kernel::wgmma
