// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "exec/machine/call_stack.hpp"
#include "exec/machine/code.hpp"
#include "exec/machine/warp.hpp"

// Functions that a thread may be in several times. Each call has a frame on the thread's stack for parameters
// and variables; the function's registers are those of the latest call, and are kept in its frame for the one
// before.
namespace ptxloom::exec {

/// The thread calls the function: makes the frame, before it is on the call stack.
void begin_frame(Warp& warp, const Operation& op, int lane, const Callee& callee, CallStack::Frame& frame);
/// The function has returned, and its frame is no longer on the call stack.
void end_frame(Warp& warp, int lane, const Callee& callee, const CallStack::Frame& frame);

}  // namespace ptxloom::exec
