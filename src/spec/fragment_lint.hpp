// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "spec/fragment.hpp"
#include "spec/variant.hpp"

// What is wrong with a fragment map: it must be one to one, leave no gaps, and be as large as its operand;
// its selectors must take every value of their digits. What a map can get wrong beyond that (two axes
// swapped) only the manual and the hardware know.
namespace ptxloom::spec {

/// A sentence, or nothing if the map fits the operand.
std::string fragment_fault(Variant variant, const OperandSpec& operand, const Variant::FragmentMap& map);

/// Throws Error(usage, "spec-fragment") for the first fault in the maps of a form's variants.
void lint_fragments(FormVariants& variants);

}  // namespace ptxloom::spec
