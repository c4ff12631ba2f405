// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "ptxloom/template.hpp"
#include "scaled_gemm/config.hpp"

// The kernel of strategy mma_sync, for targets without wgmma. As there the transpose is computed, and four
// warps with 64 columns of D have a tile of the weight layout, whose words each thread loads straight from
// global memory, a k-block ahead. Tiles of A arrive in a ring of stages. Promoted accumulators are added to
// sums at the end of each run of k.
namespace ptxloom::scaled_gemm::mma_sync {

inline constexpr int kRows = 64;       // of a tile of the weight layout
inline constexpr int kGroupWarps = 4;  // that have one

inline int threads(const Config& c) { return 32 * c.warps_n; }
inline int groups(const Config& c) { return c.warps_n / kGroupWarps; }
inline int row_tiles_of_group(const Config& c) { return c.tile_n / kRows / groups(c); }

/// The instruction's opcode.
std::string mma_opcode(const Problem& problem);
/// Thread blocks of the grid.
std::uint64_t grid(const Problem& problem, const Config& config);
/// Shared memory of the stages, and of the table of the dequantiser.
int shared_bytes(const Problem& problem, const Config& config);

Emitted emit_kernel(std::shared_ptr<const Specs> specs, const Target& target, const Problem& problem,
                    const Config& config);

}  // namespace ptxloom::scaled_gemm::mma_sync
