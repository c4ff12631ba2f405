// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exec/machine/warp.hpp"

namespace ptxloom::exec {

/// `lanes` wait at a collective operation for `absent`, which are in their member mask. Where findings are
/// collected, reports those that have gone around it: they are at an instruction that the operation leads to.
/// They only exit in the end, which ends the wait; until then the result depends on what the hardware does
/// (PTX ISA 9.7.13, all threads of the mask execute the instruction). Lanes that are on their way to an exit
/// of their own are left out: they need not come. So are lanes in a loop with the operation:
/// they may still come.
void report_detour(Warp& warp, const Operation& op, Mask lanes, Mask absent);

}  // namespace ptxloom::exec
