// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "ptxloom/kit/mma.hpp"
#include "scaled_gemm/epilogue/results.hpp"

namespace ptxloom::scaled_gemm {

inline constexpr std::size_t kValueApart = 2;  ///< registers from a gate to its value

/// Where the accumulators of a warp are, u32: the row and column of the product, A times B, of its first one,
/// and the lane.
struct ElementPlace {
  Reg row, column, lane;
};

/// Stores accumulators of the transpose to D, one by one: a thread has the same columns of D for all rows.
/// `places`: where they are, with rows and columns of the transpose. A gate and its value are 8 rows of the
/// transpose apart, and so in the same thread. `in`: has n, d and ldd.
void store_elements(KernelBuilder& k, const Problem& problem, const kit::ParamRegs& in,
                    std::span<const Reg> sums, std::span<const kit::AccumulatorPlace> places,
                    const Results& results, const kit::TileOrigin& tile, const ElementPlace& at);

}  // namespace ptxloom::scaled_gemm
