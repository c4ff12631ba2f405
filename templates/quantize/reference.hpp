// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "quantize/problem.hpp"

namespace ptxloom::quantize_kernel {

/// What y and its scales must hold, exactly: of whole rows, of all of them unless the problem is large. It is
/// written from the formats' specifications and shares nothing with the kernel.
std::vector<Expectation> reference(const Problem& problem, std::span<const HostTensor> inputs);

}  // namespace ptxloom::quantize_kernel
