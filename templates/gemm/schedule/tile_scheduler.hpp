// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/config/config.hpp"
#include "gemm/launch/batch.hpp"
#include "ptxloom/kit/tile_scheduler.hpp"

// The order of the tiles of D, as a problem and a configuration ask for it.
namespace ptxloom::gemm_kernel {

/// `problem`, `m`, `n`, `depth`: as the configuration sees the problem, the last three in registers.
/// `division`: with stream-K, shared memory for its division.
kit::TileScheduler tile_scheduler(KernelBuilder& k, const Problem& problem, const Config& config, Reg m,
                                  Reg n, Reg depth, const BatchInputs& batches,
                                  std::optional<Reg> division = {});

}  // namespace ptxloom::gemm_kernel
