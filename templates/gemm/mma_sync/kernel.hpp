// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/config/config.hpp"

// The kernel of strategy mma (mma.sync). A
// thread block computes one tile of D, each warp a part of it in registers. Tiles of A and B arrive through a
// pipeline of shared memory stages; while the tensor cores work on one k-step, the fragments of the next are
// read. With stream-K a thread block computes one portion after another (kit/stream_k_division.hpp).
namespace ptxloom::gemm_kernel::mma_sync {

Emitted emit_kernel(std::shared_ptr<const Specs> specs, const Target& target, const Problem& problem,
                    const Config& config);

}  // namespace ptxloom::gemm_kernel::mma_sync
