// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "ptxloom/plan.hpp"

// Plans as JSON, for another process or the cache. Reading throws nlohmann::json::exception or Error(usage,
// "bad-task") for JSON that was not written by this code.
namespace ptxloom::tune {

nlohmann::json to_json(const TensorPlan& plan);
TensorPlan read_tensor(const nlohmann::json& json);

nlohmann::json to_json(const LaunchPlan& plan);
LaunchPlan read_launch(const nlohmann::json& json);

nlohmann::json to_json(const MatrixProduct& product);
MatrixProduct read_product(const nlohmann::json& json);

}  // namespace ptxloom::tune
