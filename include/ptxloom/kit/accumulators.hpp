// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "ptxloom/builder.hpp"

/// \file
/// The accumulators that a thread holds of a tile. A warp (or warpgroup, with wgmma) computes its part of the
/// tile by several instructions, side by side and one below the other:
///
///     instruction   | 0,0 | 0,1 | 0,2 |       accumulators[0][2][r]: register r of operand D
///                   | 1,0 | 1,1 | 1,2 |       of the instruction in row 0, column 2
///
/// Which element of D a register holds follows from the instruction's fragment map (layout.hpp).
/// The type has no functions, so no errors of its own.
namespace [[gnu::visibility("default")]] ptxloom {
namespace kit {

/// [instruction along m][instruction along n][register].
using Accumulators = std::vector<std::vector<std::vector<Reg>>>;

}  // namespace kit
}  // namespace ptxloom
