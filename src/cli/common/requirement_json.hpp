// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "ptxloom/target.hpp"

namespace ptxloom::cli {

/// What PTX of this version takes on the target: {"since": "9.1", "cuda": "13.1", "driver": 580}; null is not
/// known. A form that a target has is never older than the target.
nlohmann::ordered_json requirement_json(const Target& target, Version since);
/// The same of a whole module, with "ptx" for "since".
nlohmann::ordered_json requirement_json(const Requirement& requirement);

}  // namespace ptxloom::cli
