// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/config/parameter.hpp"

namespace ptxloom::gemm_kernel::mma_sync {

/// What strategy mma_sync adds to a configuration.
struct Options {
  bool across_k_blocks = false;  ///< the first fragments of a k-block are read during the previous one
};

inline constexpr std::string_view kPrefetches[] = {"step", "tile"};

/// Its parameters; `kOptions` leads from a configuration to its Options.
template <auto kOptions>
inline constexpr Parameter kParameters[] = {
    parameter::choice<kPrefetches, kOptions, &Options::across_k_blocks>("prefetch"),
};

}  // namespace ptxloom::gemm_kernel::mma_sync
