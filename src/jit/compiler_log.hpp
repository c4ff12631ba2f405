// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "ptxloom/jit.hpp"

// What the compilers print, as data. ptxas and nvJitLink print lines such as
//   ptxas application ptx input, line 13; error   : Unknown modifier '.sink'
//   ptxas info    : (C7510) Potential Performance Loss: ...
//   ptxas info    : Used 8 registers, used 1 barriers, 1024 bytes smem
// and NVRTC
//   kernel.cu(3): error: identifier "x" is undefined
// followed by the source line and a caret.
namespace ptxloom::jit {

/// Errors, warnings, and as warnings those remarks that bear a number ("ptxas-C7510").
std::vector<Diagnostic> parse_link_log(std::string_view log);
/// The resources of each kernel, from a verbose log.
std::vector<Resources> parse_resources(std::string_view log);
/// `name` is the source's, of CompileOptions.
std::vector<Diagnostic> parse_nvrtc_log(std::string_view log, std::string_view name);

}  // namespace ptxloom::jit
