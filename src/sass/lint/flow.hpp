// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "sass/instruction/operands.hpp"

namespace ptxloom::sass {

/// An instruction, as far as the order of execution goes.
struct FlowStep {
  const InstructionText* text = nullptr;
  const Uses* uses = nullptr;
  std::string_view label;  ///< that branches name; empty: none
};

/// Instructions that are executed one after the other.
struct CodeBlock {
  std::size_t begin = 0, end = 0;
  std::vector<std::size_t> next;  ///< blocks that may follow
  /// Something that is not followed may lead here: a call, a return, an indirect branch.
  bool entered = false;
  /// It may lead to something that is not followed.
  bool left = false;
};

/// The blocks of one section of code, in its order. Calls, returns, indirect branches, and barriers that end
/// somewhere else than behind the last BSYNC, are not followed. `kernel`: nothing leads to the first block.
std::vector<CodeBlock> blocks_of(const std::vector<FlowStep>& steps, bool kernel);

}  // namespace ptxloom::sass
