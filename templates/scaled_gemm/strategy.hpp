// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

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
  /// Its instruction, whatever the configuration: one that exists on each target that has the others.
  std::string (*opcode)(const Problem& problem);
};

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
