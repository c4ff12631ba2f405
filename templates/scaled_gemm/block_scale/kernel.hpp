// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "ptxloom/template.hpp"
#include "scaled_gemm/config.hpp"

// The strategy block_scale: mma.sync with .block_scale multiplies the codes and applies the scales.
namespace ptxloom::scaled_gemm::block_scale {

inline int threads(const Config& c) { return 32 * c.warps_m * c.warps_n; }
inline int warp_m(const Config& c) { return c.tile_m / c.warps_m; }
inline int warp_n(const Config& c) { return c.tile_n / c.warps_n; }
/// Thread blocks of the grid.
std::uint64_t grid(const Problem& problem, const Config& config);

/// The opcode of the instruction, and the elements of k that it multiplies.
///@{
std::string mma_opcode(const Problem& problem);
int mma_depth(const Problem& problem);
///@}
Emitted emit_kernel(std::shared_ptr<const Specs> specs, const Target& target, const Problem& problem,
                    const Config& config);

}  // namespace ptxloom::scaled_gemm::block_scale
