// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/sum_scale.hpp"

#include "ptxloom/kit/activation.hpp"
#include "scaled_gemm/dequantiser.hpp"

namespace ptxloom::scaled_gemm {

SumScale::SumScale(KernelBuilder& k, const Problem& p, const kit::ParamRegs& in, const kit::TileOrigin& tile)
    : k_(k), p_(p), in_(in), tile_(tile) {
  const auto load = [&](const char* name, bool of_batches) {
    const Pointer scales = in.pointer(name);
    return k.load(tile.batch && of_batches ? scales[*tile.batch] : scales[0]);
  };
  if (p.a.format.tensor_scale) scale_a_ = load("tensor_scale_a", p.separate());
  if (p.b.format.tensor_scale) scale_b_ = load("tensor_scale_b", true);
}

Reg SumScale::scaled(Reg sum) const {
  if (const float factor = weight_factor(p_); factor != 1) sum = k_.mul(sum, factor);
  for (const std::optional<Reg>& scale : {scale_a_, scale_b_})
    if (scale) sum = k_.mul(sum, *scale);
  return sum;
}

Reg SumScale::gated(Reg gate, Reg value) const { return k_.mul(kit::silu(k_, scaled(gate)), scaled(value)); }

std::optional<Reg> SumScale::weight(Reg row) const {
  if (!p_.row_weights) return std::nullopt;
  const Reg last = k_.sub(tile_.rows, 1);
  return k_.load(in_.pointer("row_weights")[row_of_all(k_, p_, tile_, k_.min(row, last))]);
}

}  // namespace ptxloom::scaled_gemm
