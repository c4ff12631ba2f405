// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxloom/error.hpp"

namespace ptxloom {

/// One line per code and severity, in the order of first appearance. It shows the first finding with its
/// position and without its hint: "12:5: warning: ... [undocumented] (first of 516)", prefixed with a file
/// name if given.
std::vector<std::string> one_line_a_kind(std::span<const Diagnostic> diagnostics, std::string_view file = {});

}  // namespace ptxloom
