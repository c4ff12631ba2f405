// SPDX-License-Identifier: Apache-2.0
#include "gemm/reduction/cluster_reduction.hpp"

namespace ptxloom::gemm_kernel {

int cluster_reduction_bytes(const Problem& p, const Config& c) {
  return c.split == 1 ? 0 : c.tile_m * c.tile_n * p.accumulator.bytes();
}

int reduction_slices(const Config& c) { return c.strategy->reduces_in_slices() ? c.split : 1; }

void emit_cluster_reduction(KernelBuilder& k, const Problem& p, const Config& c,
                            const kit::Accumulators& accumulators, const kit::ClusterReductionInputs& in,
                            const std::function<void(const kit::Accumulators& slice, int column)>& store) {
  if (c.split == 1) return store(accumulators, 0);
  const kit::ClusterTile tile{
      .type = p.accumulator, .blocks = c.split, .threads = 32 * c.warps(), .slices = reduction_slices(c)};
  const int columns = c.warp_n() / tile.slices;
  kit::reduce_in_cluster(k, tile, accumulators, in,
                         [&](const kit::Accumulators& slice, int number) { store(slice, number * columns); });
}

}  // namespace ptxloom::gemm_kernel
