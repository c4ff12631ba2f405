// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "spec/variant.hpp"

// Errors in a form that only the joined tables show: open slots, one opcode with two meanings, operands that
// the text does not show, unused sets, fragment maps that do not fit. specgen runs this on every form;
// overlays run it when loaded.
namespace ptxloom::spec {

/// Throws Error(usage, "spec-...") for the first error.
void lint(FormVariants& variants);

/// The distinct first words of the form's opcodes.
std::vector<std::string_view> mnemonics(const Form& form);

/// All distinct words of the form's opcodes, between dots: ".add.rn.f32.". An opcode with any other word does
/// not belong to the form.
std::string words(const Form& form);

}  // namespace ptxloom::spec
