// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "exec/machine/code.hpp"
#include "exec/machine/value.hpp"
#include "exec/machine/warp.hpp"

// The values that calls pass, in registers or in local memory. An offset in a frame counts from the frame's
// base.
namespace ptxloom::exec {

/// A location of a thread, with the base of the frame that it is in, if it is in one.
struct Located {
  const Location& location;
  std::uint64_t frame = 0;

  std::uint64_t offset() const { return location.offset + (location.in_frame ? frame : 0); }
};

/// Their undefined bits go with values, if the run is judged.
Value read(Warp& warp, const Slot& slot, int lane);
void write(Warp& warp, const Slot& slot, int lane, const Value& value);
Value read(Warp& warp, const Located& from, int lane);
void write(Warp& warp, const Located& to, int lane, const Value& value);
void copy(Warp& warp, int lane, const Located& from, const Located& to);

}  // namespace ptxloom::exec
