// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exec/machine/code.hpp"
#include "ptxloom/ir.hpp"

// Which functions call which. A call through an address may reach every function whose address is taken.
namespace ptxloom::exec {

/// Sets Callee::recurses and Callee::certain.
void find_calls(const ir::Module& module, Code& code);

}  // namespace ptxloom::exec
