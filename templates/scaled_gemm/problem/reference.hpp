// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "ptxloom/plan.hpp"
#include "scaled_gemm/problem/problem.hpp"

namespace ptxloom::scaled_gemm {

/// What D must hold, in double precision: all of it, or some elements of large problems.
std::vector<Expectation> reference(const Problem& problem, std::span<const HostTensor> inputs);

}  // namespace ptxloom::scaled_gemm
