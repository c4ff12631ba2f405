// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptxloom/ir.hpp"
#include "text/buffer.hpp"

namespace ptxloom::text {

/// A function with its body, or the declaration of one that has none.
void write_function(Buffer& out, const ir::Function& function);

}  // namespace ptxloom::text
