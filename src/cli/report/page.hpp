// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

// The page of `tune --report`: report.html with its stylesheets, scripts (each of which is documented inside)
// and the results. It loads nothing.
namespace ptxloom::cli {

/// `results`: the output of `tune --json`, one per kind of device; the page contains the same data. Without
/// results it says that the search is still running.
std::string report_page(std::span<const std::string> results);

}  // namespace ptxloom::cli
