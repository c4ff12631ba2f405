// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/config/config.hpp"

// What the launches of all strategies have in common: one tile of D per thread block or cluster, and the
// problem as arguments.
namespace ptxloom::gemm_kernel {

/// What a profiler shows: types, tile, strategy and stages, such as gemm_bf16_f32_128x256x64_wgmma_4stages.
std::string kernel_name(const Problem& problem, const Config& config);

/// The kernel argument for alpha or beta, by the problem's arithmetic type.
std::uint64_t scalar_bits(Type type, double value);

/// Grid and block. Throws Error(usage, "shape-too-large").
LaunchPlan tile_grid(const Problem& problem, const Config& config);

/// Appends arguments by kind.
struct LaunchArgumentList {
  const Problem& problem;
  std::vector<ArgumentPlan>& arguments;

  void size(const char* name, std::uint64_t value) { arguments.push_back({name, u32, "", value}); }
  void distance(const std::string& name, std::uint64_t value) { arguments.push_back({name, u64, "", value}); }
  void pointer(std::string_view name) { arguments.push_back({std::string(name), u64, std::string(name), 0}); }
  void map(const std::string& tensor, const TensorMap& map) { this->map(tensor, tensor, map); }
  /// For a tensor whose name another argument has.
  void map(const std::string& name, const std::string& tensor, const TensorMap& map) {
    arguments.push_back({name, b8, tensor, 0, map});
  }
  /// For a tensor in the workspace.
  void map_at(const std::string& name, TensorMap map, std::uint64_t at) {
    map.address = at;
    arguments.push_back({name, b8, std::string(kWorkspace), 0, map});
  }
  /// A number of the arithmetic's type.
  void scalar(const char* name, double value);
};

}  // namespace ptxloom::gemm_kernel
