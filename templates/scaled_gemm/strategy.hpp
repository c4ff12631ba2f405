// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ptxloom/typed_template.hpp"
#include "scaled_gemm/config.hpp"

// A strategy: the instruction that multiplies, and all that follows from it. Each lives in a folder of its
// own, but for f8f6f4, which is block_scale without scales. The formats of A and B decide which one serves a
// problem; code outside never asks which one it is.
namespace ptxloom::scaled_gemm {

struct Strategy {
  TypedStrategy<Problem, Config> kernels;
  /// Whether it multiplies these formats, on a target that has the instruction.
  bool (*serves)(const Problem& problem);
  /// Whether the target has its instruction, whatever the configuration.
  bool (*has)(const Specs& specs, const Target& target, const Problem& problem);
};

/// The instruction by its opcode: one that exists on each target that has those of other configurations.
template <std::string (*kOpcode)(const Problem&)>
bool has_opcode(const Specs& specs, const Target& target, const Problem& problem) {
  const std::vector<Variant> found = specs.match(kOpcode(problem));
  return !found.empty() && found.front().since(target);
}

/// The one to be preferred first. complete_problem() admits no problem that none serves.
std::span<const Strategy* const> strategies();

namespace block_scale {
const Strategy& strategy();
}
namespace f8f6f4 {
const Strategy& strategy();
}
namespace dequantize {
const Strategy& strategy();
const Strategy& warpgroup_strategy();
}  // namespace dequantize
namespace wgmma {
const Strategy& strategy();
}
namespace mma_sync {
const Strategy& strategy();
}

}  // namespace ptxloom::scaled_gemm
