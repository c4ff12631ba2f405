// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptxloom/builder.hpp"
#include "scaled_gemm/problem/problem.hpp"

namespace ptxloom::scaled_gemm {

/// The largest ue8m0 over all of k of a thread's rows r and r + 8 of a row tile, in both halves of a b32.
/// Called by whole warps. A warp's 16 rows have 16 adjacent bytes in each group: each lane loads those of
/// every 32nd group, and then lanes exchange what they have, so that each keeps its own rows.
/// `scales`: global address of the row tile's (u64). `thread`: of the four warps of a row tile.
Reg largest_scales(KernelBuilder& k, const Problem& problem, Reg scales, Reg thread);

}  // namespace ptxloom::scaled_gemm
