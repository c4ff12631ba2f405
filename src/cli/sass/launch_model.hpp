// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxloom/plan.hpp"
#include "sass/issue/issue_model.hpp"

// The issue model of kernels as they are launched, for `sass --model` and `report`.
namespace ptxloom::cli {

/// A kernel of the module, as it is launched.
struct ModelLaunch {
  std::string entry{};
  int threads = 0;  ///< of a thread block
  int shared = 0;   ///< bytes of dynamic shared memory of a thread block
};

std::vector<ModelLaunch> launches_of(std::span<const LaunchPlan> plans);
/// Those of the ptxloom.launch line of emitted PTX; none if it has no such line.
std::vector<ModelLaunch> launches_in(std::string_view ptx);

/// The model of each function, by how it is launched where `how` leaves it open.
sass::IssueModel model_of(const sass::Listing& listing, int chip, const sass::ModelOptions& how,
                          std::span<const ModelLaunch> launches);

}  // namespace ptxloom::cli
