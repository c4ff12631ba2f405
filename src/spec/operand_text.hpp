// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ptxloom/specs.hpp"
#include "spec/form_data.hpp"
#include "spec/template.hpp"
#include "spec/vocabulary.hpp"

// The operand part of a form's text, "D|P, [A], {BA, TA}", and what may stand at each place.
namespace ptxloom::spec {

/// The operands of a variant and the text around them. Variants whose operands read the same share one.
struct OperandList {
  std::vector<OperandSpec> specs;
  std::vector<OperandPiece> pieces;
};

/// One operand of a form before its slots are filled in: "in b64 ?hint".
struct OperandTemplate {
  std::string_view name;
  Template text;
  int present_if = -1;  // a slot that must not be absent
  bool literal =
      false;  // "lit %tid.<x>": an absent slot is nothing there, else "-", which makes the operand absent

  /// With its slots filled in; "" where the operand is not there.
  std::string fill(Values values) const;
};

/// Reads an operand's description with its slots filled in, absent ones as "-"; an absent operand gives
/// nullopt. Throws "spec-operand".
std::optional<OperandSpec> parse_operand(std::string_view name, std::string_view text,
                                         const Vocabulary& vocabulary, Place place);

/// Lays the operands over the text: an absent one goes with the `,` or `|` before it (after it where it
/// stands first) and with brackets left empty; an address gets its brackets unless the text has them.
OperandList lay_out(std::string_view text, std::span<const std::string_view> names,
                    std::vector<std::optional<OperandSpec>> operands, Place place);

}  // namespace ptxloom::spec
