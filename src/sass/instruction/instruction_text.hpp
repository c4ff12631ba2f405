// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ptxloom::sass {

/// The parts of an instruction in the text of nvdisasm: "@!P0 LDG.E.64 R2, desc[UR4][R6.64+0x8]".
struct InstructionText {
  std::string_view guard;                  ///< "!P0"; empty: none
  std::string_view opcode;                 ///< "LDG"
  std::string modifiers;                   ///< ".E.64."; "." if there are none
  std::vector<std::string_view> operands;  ///< "R2", "desc[UR4][R6.64+0x8]"

  /// Whether these modifiers follow each other: "E.64".
  bool has(std::string_view wanted) const;
};

/// `text` must outlive the result. Operands are split at commas outside of brackets.
InstructionText split_text(std::string_view text);

/// The label of a branch, ".L_x_1" of "`(.L_x_1)"; empty if no operand is one.
std::string_view label_in(const InstructionText& text);

}  // namespace ptxloom::sass
