// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "cli/common/failure.hpp"
#include "ptxloom/error.hpp"
#include "ptxloom/findings.hpp"

// The output of `sanitize`: text, JSON (docs/json/sanitize.json), SARIF 2.1.0 for annotations in CI, or a
// page of HTML that needs nothing else.
namespace ptxloom::cli {

struct SanitizeReport {
  std::string what;                         ///< the PTX file or the template
  std::span<const exec::Finding> findings;  ///< those that are not allowed
  std::size_t allowed = 0;                  ///< how many are
  std::uint64_t seed = 0;                   ///< of inputs and schedules
  bool ok = true;                           ///< no finding makes the command fail
  /// Why the kernel was not run; then there are no findings. Of SARIF and HTML; text and JSON say it
  /// elsewhere (failure.hpp).
  std::span<const Diagnostic> failure = {};
  std::string docs_url;  ///< where docs/findings.md is published; empty: it is not
};

std::string sanitize_text(const SanitizeReport& report);
std::string sanitize_json(const SanitizeReport& report);
std::string sanitize_sarif(const SanitizeReport& report);
std::string sanitize_html(const SanitizeReport& report);

/// What says a failure in SARIF or HTML, if the arguments of `sanitize` request one of them.
FailureDocument sanitize_failure_document(std::span<char* const> arguments);

// What they share.
/// "kernel.ptx:14:3", or the template's name.
std::string place_of(const std::string& what, const exec::Site& site);
/// "block (0,0,0), warp 1, lane 0".
std::string thread_of(const exec::Site& site);
/// "kernel.ptx:14:3: `st.shared.u32 [%place], %i;`, block (0,0,0), warp 1, lane 0, kernel.cu:7".
std::string describe_side(const std::string& what, const exec::Site& site);
/// "2 findings, 1 allowed (seed 7)".
std::string count_of(const SanitizeReport& report);

}  // namespace ptxloom::cli
