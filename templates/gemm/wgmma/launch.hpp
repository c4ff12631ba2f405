// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/wgmma/plan.hpp"
#include "ptxloom/kit/params.hpp"

// The launch of a kernel of strategy wgmma, and how the kernel addresses D.
namespace ptxloom::gemm_kernel::wgmma {

/// Whether TMA stores D; whether threads store it, all or the shared tiles.
bool stores_by_tma(const Config& config, const Plan& plan);
bool stores_by_pointer(const Config& config, const Plan& plan);
/// The parameter with D's tensor map. If there is a pointer too, that is "d".
const char* map_of_d(const Config& config);
/// The kernel's parameters. `problem`: as given.
kit::Params parameters(const Problem& problem, const Config& config, const Plan& plan);
/// `seen`: the problem as the configuration sees it.
LaunchPlan launch_plan(const Problem& problem, const Problem& seen, const Config& config, const Plan& plan);

}  // namespace ptxloom::gemm_kernel::wgmma
