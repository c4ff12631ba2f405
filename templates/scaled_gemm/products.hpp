// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "ptxloom/kit/params.hpp"
#include "ptxloom/kit/tile_scheduler.hpp"
#include "scaled_gemm/problem/problem.hpp"

// The products of a launch: one, batches, or groups of rows whose sizes are in device memory. All have a B of
// their own; A and D are one matrix each for contiguous groups, and one for each batch otherwise.
namespace ptxloom::scaled_gemm {

/// What the address of a tensor whose elements are accessed one by one must be a multiple of.
inline std::uint32_t alignment_of(Type type) { return static_cast<std::uint32_t>(type.bytes()); }
/// Adds `batch`, the vector of groups, and the operands of the epilogue, where the problem has them.
void add_product_params(kit::Params& params, const Problem& problem);
/// The sizes for a scheduler. `transposed`: the kernel computes the transpose of D.
kit::TileProblem tile_problem(const Problem& problem, const kit::ParamRegs& in, bool transposed);

/// The number of a row of D (u32), which counts from the first row of the tile's batch, in the tensor of all
/// batches.
Reg row_of_all(KernelBuilder& k, const Problem& problem, const kit::TileOrigin& tile, Reg row);
/// The same for the number of a row tile of weights.
Reg row_tile_of_all(KernelBuilder& k, const Problem& problem, std::optional<Reg> batch, Reg row_tile);
/// The first element (u64) of the tile's own matrix A, B or D, or of their scales. `batched`: there is one
/// for each batch, of this many bytes.
Reg own_matrix(KernelBuilder& k, const kit::TileOrigin& tile, Reg pointer, bool batched, std::uint64_t bytes);

}  // namespace ptxloom::scaled_gemm
