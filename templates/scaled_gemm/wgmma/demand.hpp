// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptxloom/target.hpp"
#include "ptxloom/tuning_space.hpp"
#include "scaled_gemm/config.hpp"

namespace ptxloom::scaled_gemm::wgmma {

/// What a configuration demands of an SM and of the chip, for the cost model.
tune::Demand demand_of(const Target& target, const Problem& problem, const Config& config);

}  // namespace ptxloom::scaled_gemm::wgmma
