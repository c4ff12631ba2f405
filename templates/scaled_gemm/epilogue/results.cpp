// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/epilogue/results.hpp"

#include "ptxloom/kit/activation.hpp"
#include "ptxloom/kit/epilogue.hpp"

namespace ptxloom::scaled_gemm {

Results::Results(KernelBuilder& k, const Problem& p, const kit::ParamRegs& in, const kit::TileOrigin& tile)
    : k_(k), p_(p), in_(in), tile_(tile) {
  const auto load = [&](const char* name, bool of_batches) {
    const Pointer scales = in.pointer(name);
    return k.load(tile.batch && of_batches ? scales[*tile.batch] : scales[0]);
  };
  if (p.whole_scales == WholeScales::tensor) {
    scale_a_ = load("scale_a", p.separate());
    scale_b_ = load("scale_b", true);
  }
  if (p.a.format.tensor_scale) scale_a_ = load("tensor_scale_a", p.separate());
  if (p.b.format.tensor_scale) scale_b_ = load("tensor_scale_b", true);
}

// Of a row that is not stored the last one's values are read.
Reg Results::inside(Reg row) const { return row_of_all(k_, p_, tile_, k_.min(row, k_.sub(tile_.rows, 1))); }

ResultRow Results::row(Reg row) const {
  ResultRow found;
  if (p_.scaled_rows()) found.scale = k_.load(in_.pointer("scale_a")[inside(row)]);
  if (p_.row_weights) found.weight = k_.load(in_.pointer("row_weights")[inside(row)]);
  if (p_.c) found.number = inside(row);
  return found;
}

ResultColumn Results::column(Reg column) const {
  ResultColumn found;
  if (!p_.bias && !p_.scaled_columns()) return found;
  const Reg own = k_.min(column, k_.sub(in_["n"], 1));
  const Reg index = tile_.batch ? k_.fma(*tile_.batch, in_["n"], own) : own;
  if (p_.scaled_columns()) found.scale = k_.load(in_.pointer("scale_b")[index]);
  if (p_.bias) found.bias = kit::add_bias(k_, k_.mov(f32, Arg::zero(f32)), in_.pointer("bias"), index);
  return found;
}

Reg Results::scaled(Reg sum, const ResultRow& row, const ResultColumn& column) const {
  if (const float factor = p_.weight_factor(); factor != 1) sum = k_.mul(sum, factor);
  for (const std::optional<Reg>& scale : {scale_a_, scale_b_, row.scale, column.scale})
    if (scale) sum = k_.mul(sum, *scale);
  if (p_.alpha != 1) sum = k_.mul(sum, in_["alpha"]);
  return column.bias ? k_.add(sum, *column.bias) : sum;
}

Reg Results::gated(Reg gate, Reg value) const { return k_.mul(kit::silu(k_, gate), value); }

Reg Results::result(Reg value, const ResultRow& row, Reg column) const {
  if (row.number && !p_.c_last) value = with_c(value, row, column);
  value = kit::activate(k_, p_.activation, value);
  if (row.weight) value = k_.mul(value, *row.weight);
  return row.number && p_.c_last ? with_c(value, row, column) : value;
}

Reg Results::with_c(Reg value, const ResultRow& row, Reg column) const {
  const Reg last = k_.sub(p_.swiglu ? k_.div(in_["n"], 2) : in_["n"], 1);
  const Arg beta = p_.beta == 1 ? Arg(1.0F) : Arg(in_["beta"]);
  return kit::add_residual(k_, value, in_.pointer("c"), in_["ldc"], *row.number, k_.min(column, last), beta);
}

}  // namespace ptxloom::scaled_gemm
