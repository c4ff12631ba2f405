// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "ptxloom/template.hpp"
#include "scaled_gemm/config.hpp"

// The kernel of strategy wgmma: persistent thread blocks whose producer warp (producer.hpp) fills the stages
// of a pipeline, and whose consumer warpgroups multiply (mainloop.hpp) and store (store.hpp). With a split
// the thread blocks of a cluster have one tile and a part of k each, and add up their accumulators.
namespace ptxloom::scaled_gemm::wgmma {

Emitted emit_kernel(std::shared_ptr<const Specs> specs, const Target& target, const Problem& problem,
                    const Config& config);

}  // namespace ptxloom::scaled_gemm::wgmma
