// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "dequantize/problem.hpp"

namespace ptxloom::dequantize_kernel {

/// What y must hold, exactly: of whole rows, of all of them unless the problem is large. It is written from
/// the formats' specifications and shares nothing with the kernel.
std::vector<Expectation> reference(const Problem& problem, std::span<const HostTensor> inputs);

}  // namespace ptxloom::dequantize_kernel
