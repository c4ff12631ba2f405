// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "sparse_gemm/problem.hpp"

namespace ptxloom::sparse_gemm {

/// What D must hold, computed on the host in double from the definition; of large problems some elements.
std::vector<Expectation> reference(const Problem& problem, std::span<const HostTensor> inputs);

}  // namespace ptxloom::sparse_gemm
