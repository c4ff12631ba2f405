// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptxloom/builder.hpp"

namespace ptxloom::kit {

/// As KernelBuilder::convert(), by a fallback (lower.hpp) where the target lacks the conversion.
Reg convert(KernelBuilder& k, Type to, Reg value);

}  // namespace ptxloom::kit
