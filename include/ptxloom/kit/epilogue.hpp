// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "ptxloom/kit/accumulators.hpp"
#include "ptxloom/kit/fragments.hpp"
#include "ptxloom/layout.hpp"

/// \file
/// The epilogue of a tile: each thread computes results from its accumulators and stores them to D, a
/// row-major matrix in global memory. A kernel's own epilogue is a callback that emits code:
///
///     kit::store_tile(k, part, d, [&](KernelBuilder& k, Reg accumulator, Reg row, Reg column) {
///       return kit::silu(k, kit::add_bias(k, accumulator, bias, column));
///     });
///
/// or, for two adjacent columns that give one result (here SwiGLU: gate and value in turn):
///
///     accumulators  | g0 v0 g1 v1 g2 v2 ...      n columns
///     D             | r0    r1    r2    ...      n / 2 columns
///
///     kit::store_pairs(k, part, d, [&](KernelBuilder& k, Reg gate, Reg value, Reg row, Reg column) {
///       return k.mul(kit::silu(k, gate), value);
///     });
///
/// Where the accumulators lie in D follows from the fragment map of the instruction, mma.sync or wgmma. A
/// tile may extend past the end of D: what lies outside is not stored. The callback is emitted for every
/// accumulator. For one outside it gets the row or column of the last element inside, so it may read
/// memory at (row, column) without a test; its result is dropped.
///
/// Give `row_order` and `column_order` of operands that Fragments loads: interleaved ones (8-bit, not
/// contiguous along k) are refused. Without them, rows or columns of D would be stored elsewhere.
///
/// Not all threads reach the code of an epilogue: producer warps, thread blocks without a tile, threads of a
/// portion do not. So a callback that emits a barrier of the thread block or the cluster is refused.
namespace [[gnu::visibility("default")]] ptxloom {
namespace kit {

/// The part of a tile that a warp, or with wgmma a warpgroup, has in registers.
struct EpiloguePart {
  Variant mma;                ///< the instruction whose D the accumulators are
  Accumulators accumulators;  ///< f32, s32 or f64
  Reg row;                    ///< of the part's first accumulator, u32
  Reg column;                 ///< its column, u32; for store_pairs in columns of accumulators, and even
  Reg thread;                 ///< the lane of the warp, or the thread of the warpgroup, u32
  /// fragment_order() of A and of B, if they are loaded by Fragments.
  ///@{
  FragmentOrder row_order = {}, column_order = {};
  ///@}
};

/// The matrix that results are stored to.
struct EpilogueMatrix {
  Pointer d;       ///< its first element: f32, f16, bf16, s32, f64, e4m3 or e5m2
  Reg rows;        ///< u32, at least 1
  Reg columns;     ///< u32, at least 1; for store_pairs those of the results
  Reg pitch;       ///< elements from a row to the next, u32
  int vector = 1;  ///< elements of a store, 1 or 2: vector_of(); store_pairs stores one at a time

  /// 2 if pairs of adjacent elements never lie across the end of a row, and are aligned: the address is a
  /// multiple of two elements, and so are `pitch` and `columns`. Else 1.
  static int vector_of(std::uint64_t pitch, std::uint64_t columns);
};

/// The type that a callback returns: f32 if D is f32, f16, bf16, e4m3 or e5m2, to which the kit then rounds
/// to nearest even; values beyond the range of an 8-bit type become its largest. Else D's type. Throws
/// Error(usage, "operand-type") for a D that has no epilogue.
Type result_type(Type d);

/// Emits the result for one accumulator. Its registers: the accumulator in its own type, the row and the
/// column in D, u32. It leaves the accumulator as it is.
using Epilogue = std::function<Reg(KernelBuilder& k, Reg accumulator, Reg row, Reg column)>;
/// Emits the result for the accumulators of an even column and of the next. `column` is that of the result
/// in D: half of the first accumulator's.
using PairEpilogue = std::function<Reg(KernelBuilder& k, Reg first, Reg second, Reg row, Reg column)>;

/// Emits the epilogue and the stores. Without a callback accumulators are converted as they are. Throws
/// Error(usage): "epilogue-type" for a callback that returns another type than result_type(), and for
/// accumulators that cannot be converted without one; "no-barrier-here" for one that emits a barrier;
/// "fragment-layout" for an instruction whose D is not held in pairs of adjacent columns, and for
/// interleaved fragments; "bad-epilogue" if d.vector is neither 1 nor 2, or store_pairs has no callback;
/// "operand-type" as result_type(), and for a D that the target cannot convert to.
///@{
void store_tile(KernelBuilder& k, const EpiloguePart& part, const EpilogueMatrix& d,
                const Epilogue& epilogue = {});
void store_pairs(KernelBuilder& k, const EpiloguePart& part, const EpilogueMatrix& d,
                 const PairEpilogue& epilogue);
///@}

/// Parts of epilogues, for a callback. Values are f32; the vectors and the matrix are f32, f16 or bf16.
///@{
Reg add_bias(KernelBuilder& k, Reg value, Pointer bias, Reg column);    ///< value + bias[column]
Reg scale_by(KernelBuilder& k, Reg value, Pointer factors, Reg index);  ///< value * factors[index]
/// value + beta * c[row, column], with `pitch` elements (u32) from a row of C to the next.
Reg add_residual(KernelBuilder& k, Reg value, Pointer c, Reg pitch, Reg row, Reg column, Arg beta = 1.0F);
///@}

}  // namespace kit
}  // namespace ptxloom
