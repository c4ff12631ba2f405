// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "ptxloom/jit.hpp"

// Parses the output of the compilers. ptxas and nvJitLink print lines such as
//   ptxas application ptx input, line 13; error   : Unknown modifier '.sink'
//   ptxas info    : (C7510) Potential Performance Loss: ...
//   ptxas info    : Used 8 registers, used 1 barriers, 1024 bytes smem
// and NVRTC
//   kernel.cu(3): error: identifier "x" is undefined
// followed by the source line and a caret.
namespace ptxloom::jit {

/// Errors and warnings; remarks with a number ("ptxas-C7510") count as warnings.
std::vector<Diagnostic> parse_link_log(std::string_view log);
/// The resources of each kernel, from a verbose log.
std::vector<Resources> parse_resources(std::string_view log);
/// `name`: the source name from CompileOptions.
std::vector<Diagnostic> parse_nvrtc_log(std::string_view log, std::string_view name);

}  // namespace ptxloom::jit
