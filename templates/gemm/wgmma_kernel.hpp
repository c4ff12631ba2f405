// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config.hpp"

// The kernel of strategy wgmma. Blocks are persistent: each goes through its tiles of D (scheduler.hpp). One
// warp loads (tma_load.hpp), one or two warpgroups multiply what arrives (wgmma_loop.hpp) and store
// the result (tma_store.hpp, or result.hpp where D's rows are not aligned for that); between the two lies a
// pipeline of stages (pipeline.hpp), which does not stop at a tile's end: the next tile is being loaded while
// the last one is stored.
namespace ptxloom::gemm_kernel {

Emitted emit_wgmma_kernel(std::shared_ptr<const Specs> specs, const Target& target, const Problem& problem,
                          const Config& config);

}  // namespace ptxloom::gemm_kernel
