// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptxloom/tune.hpp"

namespace ptxloom::tune {

/// Copies of the tensors that launches use in turn, so that a lap touches twice what the L2 cache holds. For
/// tasks of a few KB that would be too many, and there the cache stays warm.
std::size_t rotation(const Task& task, int l2_bytes);

}  // namespace ptxloom::tune
