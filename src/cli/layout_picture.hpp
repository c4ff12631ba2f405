// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "ptxloom/layout.hpp"

// A fragment map as a picture: the matrix as a grid of who holds what, as text or as SVG.
namespace ptxloom::cli {

/// A line for each row; a cell is "T5.r1", lane 5's register 1, and stands for the elements side by side that
/// fill it from its lowest bit on; "T5.r1:16" for those from bit 16 on.
void print_grid(const Layout& map);

void print_svg(const Layout& map, std::string_view title);

}  // namespace ptxloom::cli
