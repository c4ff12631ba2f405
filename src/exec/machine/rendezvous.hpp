// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exec/machine/operation.hpp"

namespace ptxloom::exec {

/// A shuffle, vote, match, reduction or elect.sync waits until all members of its mask have executed one with
/// the same qualifiers and the same mask: from sm_70 on not necessarily the same one of the text (PTX ISA
/// 9.7.9.6, 9.7.13.9 to 9.7.13.14). `lanes` have reached `op` with the mask `named`. If all others wait at
/// operations of this kind, it is executed for all of them. Returns whether it is.
bool meet_elsewhere(Warp& warp, const Operation& op, Mask lanes, Mask named);

}  // namespace ptxloom::exec
