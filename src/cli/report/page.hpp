// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

// The page of `tune --report`: report.html with its stylesheets and scripts (what they do stands in each of
// them) and the results in it. It loads nothing.
namespace ptxloom::cli {

/// `results` as `tune --json` prints them, one for each kind of device; what the page holds is equal to them.
/// Without any it says that the search is not over.
std::string report_page(std::span<const std::string> results);

}  // namespace ptxloom::cli
