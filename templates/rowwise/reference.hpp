// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "rowwise/problem.hpp"

namespace ptxloom::rowwise_kernel {

/// What y must hold, in double precision, with the error that f32 arithmetic may have: of whole rows, of all
/// of them unless the problem is large.
Expectation reference(const Problem& problem, std::span<const HostTensor> inputs);

}  // namespace ptxloom::rowwise_kernel
