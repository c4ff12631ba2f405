// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "scaled_gemm/products.hpp"

// The epilogue of an accumulator. What the dequantiser has left out, the scales of the tensors and of the row
// of A, and alpha are multiplied, and the bias is added; of two of these, SwiGLU makes one. The activation is
// applied, the weight of the row is multiplied, and C is added, or before the activation.
namespace ptxloom::scaled_gemm {

/// What the results of a row of D share, where the problem has it.
struct ResultRow {
  std::optional<Reg> scale;   ///< of the row of A
  std::optional<Reg> weight;  ///< of the result
  std::optional<Reg> number;  ///< of the row in the tensor of all batches, for C
};

/// What those of a column of the product share.
struct ResultColumn {
  std::optional<Reg> scale;  ///< of the column of B
  std::optional<Reg> bias;
};

class Results {
 public:
  /// Emits the loads of the scales of tensors. `in`: has tensor_scale_a, tensor_scale_b and what
  /// add_product_params() adds, where the problem has them.
  Results(KernelBuilder& k, const Problem& problem, const kit::ParamRegs& in, const kit::TileOrigin& tile);

  /// Emits the loads for a row of D (u32). Rows below the last one have any.
  ResultRow row(Reg row) const;
  /// Emits the loads for a column of the product (u32). Columns behind the last one have any.
  ResultColumn column(Reg column) const;

  /// Before SwiGLU.
  Reg scaled(Reg sum, const ResultRow& row, const ResultColumn& column) const;
  /// silu(gate) * value of two that are scaled.
  Reg gated(Reg gate, Reg value) const;
  /// What is stored, of what is scaled or gated. `column`: of D; behind the last one it may have any value.
  Reg result(Reg value, const ResultRow& row, Reg column) const;

 private:
  Reg inside(Reg row) const;
  Reg with_c(Reg value, const ResultRow& row, Reg column) const;

  KernelBuilder& k_;
  const Problem& p_;
  const kit::ParamRegs& in_;
  kit::TileOrigin tile_;
  std::optional<Reg> scale_a_, scale_b_;
};

}  // namespace ptxloom::scaled_gemm
