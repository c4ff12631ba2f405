// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/products.hpp"

namespace ptxloom::scaled_gemm {
void add_product_params(kit::Params& params, const Problem& p) {
  const kit::ProductGroups products = p.products();
  products.add_batches(params);
  if (products.add_tensor(params)) params.aligned(s32.bytes());
  if (p.row_scales()) params.pointer("scale_a", f32).aligned(sizeof(float));
  if (p.alpha != 1) params.scalar("alpha", f32, p.alpha);
  if (p.row_weights) params.pointer("row_weights", f32).aligned(sizeof(float));
  if (p.bias) params.pointer("bias", *p.bias).aligned(alignment_of(*p.bias));
  if (p.c) params.pointer("c", *p.c).aligned(alignment_of(*p.c)).size("ldc", u32, p.ldc);
  if (p.c && p.beta != 1) params.scalar("beta", f32, p.beta);
}

kit::TileProblem tile_problem(const Problem& p, const kit::ParamRegs& in, bool transposed) {
  const kit::ProductGroups products = p.products();
  return {.m = in[transposed ? "n" : "m"],
          .n = in[transposed ? "m" : "n"],
          .k = in["k"],
          .batches = products.batches_in(in),
          .groups = products.groups_in(in, transposed)};
}

Reg row_of_all(KernelBuilder& k, const Problem& p, const kit::TileOrigin& tile, Reg row) {
  return p.separate() ? k.fma(*tile.batch, static_cast<std::int64_t>(p.m), row) : row;
}

Reg row_tile_of_all(KernelBuilder& k, const Problem& p, std::optional<Reg> batch, Reg row_tile) {
  const auto tiles = static_cast<std::int64_t>(p.b.weights().row_tiles());
  return batch ? k.fma(*batch, tiles, row_tile) : row_tile;
}

Reg own_matrix(KernelBuilder& k, const kit::TileOrigin& tile, Reg pointer, bool batched,
               std::uint64_t bytes) {
  if (!batched) return pointer;
  return k.fma(k.convert(u64, *tile.batch), static_cast<std::int64_t>(bytes), pointer);
}

}  // namespace ptxloom::scaled_gemm
