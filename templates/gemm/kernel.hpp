// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config.hpp"

// The kernel of a configuration. Of strategy wgmma see wgmma_kernel.hpp; that of mma.sync lies here: a block
// computes one tile of D, each warp a part of it in registers. Tiles of A and B arrive through a pipeline of
// shared memory stages; while the tensor cores work on one step of k, the fragments of the next are read.
// With stream-K a block does so for one portion after the other (stream_division.hpp).
namespace ptxloom::gemm_kernel {

Emitted emit_kernel(std::shared_ptr<const Specs> specs, const Target& target, const Problem& problem,
                    const Config& config);

}  // namespace ptxloom::gemm_kernel
