// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "ptxloom/typed_template.hpp"
#include "sparse_gemm/config.hpp"

// A strategy: the instruction that multiplies, and all that follows from it. Each lives in a folder of its
// own.
namespace ptxloom::sparse_gemm {

struct Strategy {
  TypedStrategy<Problem, Config> kernels;
  /// Its instruction: one that exists on each target that has the others.
  std::string (*opcode)(const Problem& problem);
};

/// The one to be preferred first.
std::span<const Strategy* const> strategies();

namespace wgmma {
const Strategy& strategy();
}
namespace mma_sync {
const Strategy& strategy();
}

}  // namespace ptxloom::sparse_gemm
