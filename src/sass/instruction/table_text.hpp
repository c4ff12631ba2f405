// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

// Tables of specs/sass: rows of cells separated by blanks, the first of which names the columns.
namespace ptxloom::sass {

/// The parts of a text between separators; several separators count as one.
std::vector<std::string> split(std::string_view text, char separator);
/// Whether a chip is one of "-" (all), "90" or "80..90", where either end may be left out, or of several
/// such, "..90|120..".
bool has_chip(std::string_view chips, int chip);

}  // namespace ptxloom::sass
