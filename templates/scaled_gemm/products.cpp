// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/products.hpp"

namespace ptxloom::scaled_gemm {
void add_product_params(kit::Params& params, const Problem& p) {
  if (p.several()) params.size("batch", u32, p.batch);
  if (const auto tensor = group_tensor(p)) params.pointer(tensor->name, tensor->type).aligned(s32.bytes());
  if (p.row_weights) params.pointer("row_weights", f32).aligned(sizeof(float));
}

kit::TileProblem tile_problem(const Problem& p, const kit::ParamRegs& in, bool transposed) {
  kit::TileProblem problem{.m = in[transposed ? "n" : "m"], .n = in[transposed ? "m" : "n"], .k = in["k"]};
  if (p.several()) problem.batches = in["batch"];
  problem.groups = {.kind = p.groups, .run = kGroupRows, .columns = transposed};
  if (const auto tensor = group_tensor(p)) problem.groups.address = in[tensor->name];
  return problem;
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
