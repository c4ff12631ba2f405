// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>

#include "ptxloom/error.hpp"

namespace ptxloom::cli {

/// Those of one severity, as an array of {"line", "column", "code", "message", "hint"}.
nlohmann::ordered_json diagnostics_json(std::span<const Diagnostic> diagnostics, Severity severity);

}  // namespace ptxloom::cli
