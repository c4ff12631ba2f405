// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "ptxloom/layout.hpp"

// A fragment map as a picture: the matrix as a grid that shows the owner of each element, as text or as SVG.
namespace ptxloom::cli {

/// One line per row. A cell "T5.r1" is lane 5's register 1, and represents the adjacent elements that fill it
/// from its lowest bit on; "T5.r1:16" represents those from bit 16 on.
void print_grid(const Layout& map);

void print_svg(const Layout& map, std::string_view title);

}  // namespace ptxloom::cli
