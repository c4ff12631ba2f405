// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptxloom/tune.hpp"

namespace ptxloom::tune {

/// The number of copies of the tensors that launches use in rotation, so that one round touches twice the
/// size of the L2 cache. Tasks of a few KB would need too many; for those the cache stays warm.
std::size_t rotation(const Task& task, int l2_bytes);

}  // namespace ptxloom::tune
