// SPDX-License-Identifier: Apache-2.0
#include "api/code_model.hpp"

#include <algorithm>

#include "sass/issue/issue_model.hpp"
#include "tune/model/model.hpp"

namespace ptxloom::api {
namespace {

constexpr int kWarpThreads = 32;

/// The kernel of the only launch. The disassembler is left out: it takes longer than linking.
std::optional<sass::FunctionModel> function_of(const tune::Candidate& candidate) {
  const LaunchPlan& launch = candidate.launches.front();
  const sass::CubinView cubin(candidate.cubin, launch.entry);
  sass::Listing listing = sass::list({.cubin = cubin, .name = launch.entry});
  std::erase_if(listing.functions, [&](const auto& one) { return one.facts.name != launch.entry; });
  if (listing.functions.empty()) return std::nullopt;
  const auto threads = static_cast<int>(launch.block[0] * launch.block[1] * launch.block[2]);
  const sass::ModelOptions how = {.block_warps = (threads + kWarpThreads - 1) / kWarpThreads,
                                  .shared = static_cast<int>(launch.shared_bytes),
                                  .quick = true};
  return std::move(sass::issue_model(listing, cubin.chip(), how).functions.front());
}

/// How many iterations of its main loop a thread block makes, by the operations of both. 0: not known.
double iterations_of(const sass::LoopModel& loop, int blocks, const tune::Demand& demand) {
  const double of_loop = loop.tensor_operations > 0 ? loop.tensor_operations : loop.operations;
  const double of_block = demand.operations / static_cast<double>(demand.blocks);
  return of_loop > 0 ? of_block * blocks / (of_loop * loop.warps) : 0;
}

}  // namespace

tune::CodeModel code_model(const Target& target, const std::optional<DeviceInfo>& device) {
  return [chip = tune::chip_of(target, device)](const tune::Candidate& candidate,
                                                const tune::Demand& demand) -> std::optional<double> {
    if (candidate.launches.size() != 1 || demand.blocks == 0 || demand.loads == tune::Loads::streamed)
      return std::nullopt;
    const std::optional<sass::FunctionModel> function = function_of(candidate);
    const sass::LoopModel* const loop = function ? function->hottest() : nullptr;
    if (loop == nullptr || loop->cycles == 0) return std::nullopt;
    int blocks = function->occupancy.blocks;
    const double iterations = iterations_of(*loop, blocks, demand);
    if (iterations == 0) return std::nullopt;
    tune::CodeClocks code = {
        .at_once = blocks, .together = iterations * loop->cycles, .alone = iterations * loop->alone};
    if (demand.most_per_sm > 0 && demand.most_per_sm < blocks) {
      code.together *= static_cast<double>(demand.most_per_sm) / blocks;
      code.at_once = demand.most_per_sm;
    }
    const double us = tune::predict(demand, chip, code).us;
    return us > 0 ? std::optional(us) : std::nullopt;
  };
}

}  // namespace ptxloom::api
