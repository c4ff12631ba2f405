// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "scaled_gemm/products.hpp"

namespace ptxloom::scaled_gemm {

/// What the epilogue multiplies the accumulators of a tile by: what the dequantiser has left out, the scales
/// of the tensors, and the weight of the row.
class SumScale {
 public:
  /// Emits the loads of the scales of tensors. `in`: has tensor_scale_a, tensor_scale_b and row_weights where
  /// the problem has them.
  SumScale(KernelBuilder& k, const Problem& problem, const kit::ParamRegs& in, const kit::TileOrigin& tile);

  /// An accumulator times all but the weight.
  Reg scaled(Reg sum) const;
  /// silu(gate) * value of two accumulators.
  Reg gated(Reg gate, Reg value) const;
  /// The weight of a row of D (u32), if rows have weights. Rows below the last one have any.
  std::optional<Reg> weight(Reg row) const;

 private:
  KernelBuilder& k_;
  const Problem& p_;
  const kit::ParamRegs& in_;
  kit::TileOrigin tile_;
  std::optional<Reg> scale_a_, scale_b_;
};

}  // namespace ptxloom::scaled_gemm
