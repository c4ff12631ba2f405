// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ptxloom::gemm_kernel::mma_sync {

/// What strategy mma_sync adds to a configuration.
struct Options {
  bool across_k_blocks = false;  ///< the first fragments of a k-block are read during the previous one
};

}  // namespace ptxloom::gemm_kernel::mma_sync
