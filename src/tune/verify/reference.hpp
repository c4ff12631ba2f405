// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptxloom/plan.hpp"

namespace ptxloom::tune {

/// Throws Error(usage, "bad-reference") for an inconsistent one.
void check_reference(const Expectation& expected);

}  // namespace ptxloom::tune
