// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/fit.hpp"

// The part of fit.hpp for addresses, the variables in them, and labels.
namespace ptxloom::ir {

Misfit address_misfit(const Kernel& kernel, const OperandSpec& place, const Operand& operand);
Misfit label_misfit(const Kernel& kernel, const OperandSpec& place, const Operand& operand);

}  // namespace ptxloom::ir
