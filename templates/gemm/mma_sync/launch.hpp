// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "gemm/reduction/stream_k_reduction.hpp"

// The launch of a kernel of strategy mma.
namespace ptxloom::gemm_kernel::mma_sync {

/// The matrices of batches; all are addressed by pointer.
std::vector<std::string_view> pointers(const Problem& problem);

/// `stream`: with stream-K.
LaunchPlan launch_plan(const Problem& problem, const Config& config, const std::optional<StreamPlan>& stream);

}  // namespace ptxloom::gemm_kernel::mma_sync
