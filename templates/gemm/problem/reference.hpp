// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "gemm/problem/problem.hpp"

// What D must hold, computed on the host in double (exactly for integers) from the definition, sharing no
// code with the kernel. Large problems are computed at sample points: one from each cell of a grid over D,
// its corners and edges.
namespace ptxloom::gemm_kernel {

Expectation reference(const Problem& problem, std::span<const HostTensor> inputs);

}  // namespace ptxloom::gemm_kernel
