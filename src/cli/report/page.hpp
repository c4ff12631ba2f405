// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

// The pages of `tune --report` and of `report`: report.html and kernel.html with their stylesheets, scripts
// (each of which is documented inside) and the results. They load nothing.
namespace ptxloom::cli {

/// `results`: the output of `tune --json`, one per kind of device; the page contains the same data. Without
/// results it says that the search is still running.
std::string report_page(std::span<const std::string> results);

/// `report`: the output of `report --format json`; the page contains the same data.
std::string kernel_page(const std::string& report);

}  // namespace ptxloom::cli
