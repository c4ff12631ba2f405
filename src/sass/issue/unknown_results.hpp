// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "sass/issue/issue_sim.hpp"

// Instructions that issue.json does not have occupy nothing in the model. A loop that waits for their results
// takes a time that nobody knows.
namespace ptxloom::sass {

/// Whether the loop waits for a result of such an instruction.
bool waits_for_unknown(const std::vector<IssueOp>& ops);

}  // namespace ptxloom::sass
