// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "problem.hpp"

// What D must hold, computed on the host in double (integers: exactly) from the definition, with nothing of
// the kernel's. Large problems are computed at points: one of every cell of a grid over D, its corners and
// edges.
namespace ptxloom::gemm_kernel {

Expectation reference(const Problem& problem, std::span<const HostTensor> inputs);

}  // namespace ptxloom::gemm_kernel
