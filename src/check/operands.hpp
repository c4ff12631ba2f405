// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "ir/fit.hpp"

namespace ptxloom::check_rules {

/// Explains why an operand does not fit: the operand, what was given, what would fit.
Diagnostic describe(const ir::Kernel& kernel, const OperandSpec& place, const ir::Operand& operand,
                    const ir::Mismatch& mismatch);

/// The instruction has more or fewer operands than the variant.
Diagnostic wrong_count(Variant variant, std::size_t given);

/// A warning: ptxas accepts the variant, but the manual does not document it.
Diagnostic undocumented();

}  // namespace ptxloom::check_rules
