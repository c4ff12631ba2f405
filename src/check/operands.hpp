// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "ir/fit.hpp"

namespace ptxloom::check_rules {

/// The reason why an operand does not fit its place, in words: the operand, what was given, what fits.
Diagnostic describe(const ir::Kernel& kernel, const OperandSpec& place, const ir::Operand& operand,
                    const ir::Mismatch& mismatch);

/// The instruction has more operands than the variant, or fewer.
Diagnostic wrong_count(Variant variant, std::size_t given);

/// ptxas takes the variant, the manual does not promise it: a warning.
Diagnostic undocumented();

}  // namespace ptxloom::check_rules
