// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxloom/specs.hpp"
#include "spec/form_data.hpp"
#include "spec/template.hpp"
#include "spec/vocabulary.hpp"

// The operand part of a form's text, "D|P, [A], {BA, TA}", and what each place accepts.
namespace ptxloom::spec {

/// The operands of a variant and the text around them. Variants with the same operand text share one.
struct OperandList {
  std::vector<OperandSpec> specs;
  std::vector<OperandPiece> pieces;
};

/// One operand of a form before its slots are filled in: "in b64 ?hint".
struct OperandTemplate {
  std::string_view name;
  Template text;
  int present_if = -1;  // a slot that must be present
  bool literal =
      false;  // "lit %tid.<x>": an absent slot adds nothing; otherwise "-", which makes the operand absent
  bool by_opcode = false;  // its type is a modifier of the opcode

  /// Sets `by_opcode`: whether a slot before the count and the range is one of these.
  void find_type(std::span<const int> slots_of_opcode);
  /// The text with its slots filled in; "" if the operand is absent.
  std::string fill(Values values) const;
};

/// Parses an operand's description with its slots filled in, absent ones as "-"; an absent operand gives
/// nullopt. Throws "spec-operand".
std::optional<OperandSpec> parse_operand(const OperandTemplate& operand, std::string_view text,
                                         const Vocabulary& vocabulary, Place place);

/// Places the operands in the text: an absent one is removed with the `,` or `|` before it (after it if it is
/// first) and with brackets that become empty; an address gets brackets unless the text has them.
OperandList lay_out(std::string_view text, std::span<const std::string_view> names,
                    std::vector<std::optional<OperandSpec>> operands, Place place);

}  // namespace ptxloom::spec
