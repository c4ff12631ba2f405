// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "exec/machine/paths.hpp"
#include "exec/machine/state.hpp"
#include "exec/machine/warp.hpp"

namespace ptxloom::exec {

/// Operations by their numbers, the last one included.
struct CodeRange {
  std::uint32_t first = 0, last = 0;
};

/// A lane of the member mask has gone around a collective operation if it is past it and cannot come back.
/// The others then wait until it exits, and what they compute depends on the hardware (PTX ISA 9.7.13). Lanes
/// that do nothing but exit are left out. Only where findings are collected.
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
    const Paths::Beyond* beyond = nullptr;
    std::vector<CodeRange> before_counterparts;
    Mask reported = 0;
  };
  const Code& code() const;
  Around& around(const Operation& op);
  /// Whether a lane that is at `pc` has gone around the operation.
  bool has_gone(const Operation& op, std::uint32_t pc);
  void report_lanes(const Operation& op, Mask lanes, Mask gone);

  Warp* warp_;
  std::unordered_map<const Operation*, Around> around_;  // operations at which lanes have waited
};

}  // namespace ptxloom::exec
