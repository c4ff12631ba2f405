// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "spec/fragment.hpp"
#include "spec/variant.hpp"

// Finds errors in a fragment map: it must be one to one, have no gaps, and be as large as its operand; its
// selectors must take every value of their digits. Other errors (such as swapped axes) only show against the
// manual and the hardware.
namespace ptxloom::spec {

/// A sentence, or empty if the map fits the operand.
std::string fragment_fault(Variant variant, const OperandSpec& operand, const Variant::FragmentMap& map);

/// Throws Error(usage, "spec-fragment") for the first fault in the maps of a form's variants.
void lint_fragments(FormVariants& variants);

}  // namespace ptxloom::spec
