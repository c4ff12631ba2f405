// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <vector>

#include "exec/machine/state.hpp"
#include "exec/machine/warp.hpp"

namespace ptxloom::exec {

/// Lanes that wait at a collective operation, and those of their member mask that have gone around it: these
/// are at an instruction that the operation leads to, and from which nothing leads back. They only exit in
/// the end, which ends the wait; until then the result depends on what the hardware does (PTX ISA 9.7.13, all
/// threads of the mask execute the instruction). Lanes that are on their way to an exit of their own are left
/// out: they need not come. Found where findings are collected.
class Detours final : public State {
 public:
  explicit Detours(Warp& warp) : warp_(&warp) {}
  void reset() override;
  /// `lanes` begin to wait for `absent`.
  void look(const Operation& op, Mask lanes, Mask absent);
  /// The current lanes are about to execute an instruction, while others wait.
  void look_at_current();

 private:
  struct Around {
    std::vector<bool> beyond;  // by program counter: whether who is there has gone around the operation
    Mask reported = 0;
  };
  Around& around(const Operation& op);
  void report_lanes(const Operation& op, Mask lanes, Mask gone);

  Warp* warp_;
  std::map<const Operation*, Around> around_;  // operations at which lanes have waited
};

}  // namespace ptxloom::exec
