// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "gemm/reduction/stream_k_reduction.hpp"
#include "ptxloom/kit/params.hpp"

// The launch of a kernel of strategy mma.
namespace ptxloom::gemm_kernel::mma_sync {

/// The kernel's parameters. `stream`: with stream-K.
kit::Params parameters(const Problem& problem, const Config& config, const std::optional<StreamPlan>& stream);
LaunchPlan launch_plan(const Problem& problem, const Config& config, const std::optional<StreamPlan>& stream);

}  // namespace ptxloom::gemm_kernel::mma_sync
