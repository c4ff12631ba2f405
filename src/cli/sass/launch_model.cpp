// SPDX-License-Identifier: Apache-2.0
#include "cli/sass/launch_model.hpp"

#include "cli/run/launch_header.hpp"

namespace ptxloom::cli {
namespace {

constexpr int kWarpThreads = 32;

}  // namespace

std::vector<ModelLaunch> launches_of(std::span<const LaunchPlan> plans) {
  std::vector<ModelLaunch> launches;
  for (const LaunchPlan& plan : plans)
    launches.push_back({plan.entry, static_cast<int>(plan.block[0] * plan.block[1] * plan.block[2]),
                        static_cast<int>(plan.shared_bytes)});
  return launches;
}

std::vector<ModelLaunch> launches_in(std::string_view ptx) {
  const auto header = read_launch_header(ptx);
  return header ? launches_of(header->launches) : std::vector<ModelLaunch>();
}

sass::IssueModel model_of(const sass::Listing& listing, int chip, const sass::ModelOptions& how,
                          std::span<const ModelLaunch> launches) {
  sass::IssueModel made = sass::issue_model(listing, chip, how);
  for (const ModelLaunch& launch : launches) {
    sass::ModelOptions launched = how;
    if (how.block_warps == 0) launched.block_warps = (launch.threads + kWarpThreads - 1) / kWarpThreads;
    if (how.shared == 0) launched.shared = launch.shared;
    sass::IssueModel other = sass::issue_model(listing, chip, launched);
    for (std::size_t i = 0; i < made.functions.size(); ++i)
      if (made.functions[i].name == launch.entry) made.functions[i] = std::move(other.functions[i]);
  }
  return made;
}

}  // namespace ptxloom::cli
