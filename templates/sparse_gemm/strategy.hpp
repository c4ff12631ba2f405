// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>

#include "ptxloom/typed_template.hpp"
#include "sparse_gemm/config.hpp"

// A strategy: the instruction that multiplies, and all that follows from it. Each lives in a folder of its
// own.
namespace ptxloom::sparse_gemm {

struct Strategy {
  TypedStrategy<Problem, Config> kernels;
  /// Its instruction, whatever the configuration, if the target has it.
  std::optional<Variant> (*find)(const Specs& specs, const Target& target, const Problem& problem);
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
