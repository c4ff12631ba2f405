// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "stream_sums.hpp"

// The launch of a kernel of strategy mma.
namespace ptxloom::gemm_kernel {

/// The matrices of batches; all are addressed by pointer.
std::vector<std::string_view> pointers(const Problem& problem);

/// `stream`: with stream-K.
LaunchPlan mma_launch(const Target& target, const Problem& problem, const Config& config,
                      const std::optional<StreamPlan>& stream);

}  // namespace ptxloom::gemm_kernel
