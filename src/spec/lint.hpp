// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "spec/variant.hpp"

// What is wrong with a form that only the joined tables show: slots left open, one opcode with two meanings,
// operands that the text does not show, sets that nothing uses, fragment maps that do not fit. Run on every
// form by specgen and on overlays.
namespace ptxloom::spec {

/// Throws Error(usage, "spec-...") for the first mistake.
void lint(FormVariants& variants);

/// What the form's opcodes begin with, each once.
std::vector<std::string_view> mnemonics(const Form& form);

/// All words of the form's opcodes, each once, between dots: ".add.rn.f32.". An opcode with another word is
/// none of the form's.
std::string words(const Form& form);

}  // namespace ptxloom::spec
