// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "sass/lint/hazards.hpp"

// The loops of a function: a branch that leads back to a block that it can only be reached through.
namespace ptxloom::sass {

struct CodeLoop {
  std::size_t first = 0;             ///< the instruction at which an iteration begins
  std::vector<std::size_t> steps{};  ///< the instructions of an iteration, in the order of execution
  std::size_t instructions = 0;      ///< of the whole loop, with those that this iteration passes over
  int depth = 1;                     ///< 1: in no other loop
  bool inner = true;                 ///< it has no loop in it
};

struct CodeLoops {
  std::vector<CodeLoop> loops{};  ///< in the order of the code
  int waiting = 0;                ///< others, which only ask whether something has happened
};

/// The loops of a function. Of several ways through a loop an iteration takes the one in which branches
/// forward are not taken, unless they leave the loop otherwise. A loop in it is passed through once. `polls`:
/// whether an instruction asks for something that is waited for.
CodeLoops loops_of(const std::vector<HazardStep>& steps, bool kernel,
                   const std::function<bool(std::size_t)>& polls);

}  // namespace ptxloom::sass
