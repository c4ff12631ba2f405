// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/config/config.hpp"

// The kernel of strategy wgmma. Thread blocks are persistent: each processes its tiles of D in turn
// (kit/tile_scheduler.hpp). A producer warp loads (wgmma/mainloop/tma_load.hpp); one or two consumer
// warpgroups multiply (wgmma/mainloop/mainloop.hpp) and store the result (wgmma/tma_store.hpp, or
// kit/tile_result.hpp if D's rows do not meet TMA's alignment). They are connected by a pipeline of stages
// (kit/pipeline.hpp) that continues across tiles: the next tile is loaded while the last one is stored.
namespace ptxloom::gemm_kernel::wgmma {

Emitted emit_kernel(std::shared_ptr<const Specs> specs, const Target& target, const Problem& problem,
                    const Config& config);

}  // namespace ptxloom::gemm_kernel::wgmma
