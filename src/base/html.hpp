// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace ptxloom {

/// Text as it is written in HTML, between tags or in an attribute in quotes.
std::string escape_html(std::string_view text);

}  // namespace ptxloom
