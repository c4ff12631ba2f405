// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxloom/error.hpp"

namespace ptxloom {

/// One line for each code and severity, in the order of the first finding of it, which it tells with its
/// place and without its hint: "12:5: warning: ... [undocumented] (first of 516)", behind the name of a file
/// if there is one.
std::vector<std::string> one_line_a_kind(std::span<const Diagnostic> diagnostics, std::string_view file = {});

}  // namespace ptxloom
