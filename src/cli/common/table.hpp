// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace ptxloom::cli {

/// Formats rows of cells as text, with left-aligned columns two spaces apart.
std::string format_table(const std::vector<std::vector<std::string>>& rows);

}  // namespace ptxloom::cli
