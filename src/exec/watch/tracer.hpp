// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "exec/machine/code.hpp"
#include "exec/machine/grid.hpp"
#include "exec/machine/lanes.hpp"

// Reports each completed instruction to Launch::trace, with the registers that it changed: those that it may
// write are saved when it starts, and compared.
namespace ptxloom::exec {

class Tracer {
 public:
  explicit Tracer(const Grid& grid) : grid_(&grid) {}
  /// The warp is about to execute an instruction: reports the previous one.
  void begin(Warp& warp, const Operation& op, Mask lanes);
  /// By executing the current instruction, it completes this one for lanes that wait there (rendezvous.hpp).
  void add(Warp& warp, const Operation& op, Mask lanes);
  /// The current instruction is complete: reports it, and what was completed with it.
  void end();

 private:
  struct Written {
    const ir::RegisterDecl* reg;
    Slot slot;
    std::vector<std::byte> before;
  };
  struct Pending {
    Warp* warp;
    Step step;
    std::vector<Written> written;
  };
  void keep(Warp& warp, const Operation& op, const ir::Operand& operand, std::vector<Written>& written) const;
  void report(Pending& done) const;

  const Grid* grid_;
  std::vector<Pending> pending_;  // the current instruction comes first
};

}  // namespace ptxloom::exec
