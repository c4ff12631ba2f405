// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace ptxloom::cli {

/// Rows of cells as text, columns aligned to the left and two spaces apart.
std::string format_table(const std::vector<std::vector<std::string>>& rows);

}  // namespace ptxloom::cli
