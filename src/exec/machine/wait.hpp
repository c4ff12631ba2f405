// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "exec/machine/lanes.hpp"

// What threads wait for, as the report of a deadlock says it.
namespace ptxloom::exec {

class Warp;
struct Group;
struct Operation;

struct WaitKind {
  const char* code;  ///< of the fault: "barrier-deadlock"
  const char* hint;
};

/// Lanes that wait at an operation.
struct Wait {
  const Warp* warp;
  const Operation* op;
  Mask lanes;
  std::string what;  ///< "it waits here for warp 2 of its warpgroup"
  const WaitKind* kind;
};

/// "warp 3", or with several thread blocks "warp 3 of block 1".
std::string name_of(const Warp& warp);
/// The operation after which a parked group waits.
const Operation& waits_at(const Warp& warp, const Group& group);
/// Where lanes of a warp wait: "lanes 0-3 are at `bar.sync 0;`".
std::string whereabouts(const Warp& warp, Mask lanes);

}  // namespace ptxloom::exec
