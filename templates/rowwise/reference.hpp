// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "rowwise/problem.hpp"

namespace ptxloom::rowwise_kernel {

/// What y must hold, and the scales of its rows if it is quantised, in double precision, with the error that
/// f32 arithmetic may have: of whole rows, of all of them unless the problem is large.
std::vector<Expectation> reference(const Problem& problem, std::span<const HostTensor> inputs);

}  // namespace ptxloom::rowwise_kernel
