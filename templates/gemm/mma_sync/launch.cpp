// SPDX-License-Identifier: Apache-2.0
#include "gemm/mma_sync/launch.hpp"

#include "gemm/epilogue/terms.hpp"
#include "gemm/launch/batch.hpp"
#include "gemm/launch/launch.hpp"
#include "gemm/mma_sync/choice.hpp"

namespace ptxloom::gemm_kernel::mma_sync {

kit::Params parameters(const Problem& p, const Config& c, const std::optional<StreamPlan>& stream) {
  const bool nk = c.bake != Bake::none, all = c.bake == Bake::mnk;
  kit::Params params;
  params.size("m", u32, p.m, all).size("n", u32, p.n, nk).size("k", u32, p.k, nk);
  params.pointer("a", p.a.type).pointer("b", p.b.type);
  if (stream) params.workspace(b8);
  if (p.reads_c()) params.pointer("c", p.c.type);
  params.pointer("d", p.d.type);
  params.size("lda", u32, p.a.ld, p.a.k_contiguous ? nk : all).size("ldb", u32, p.b.ld, nk);
  if (p.reads_c()) params.size("ldc", u32, p.c.ld, nk);
  params.size("ldd", u32, p.d.ld, nk);
  add_term_parameters(params, p);
  std::vector<std::string_view> pointers{"a", "b", "d"};
  if (p.reads_c()) pointers.insert(pointers.end() - 1, "c");
  add_batch_parameters(params, p, pointers, all);
  return params;
}

LaunchPlan launch_plan(const Problem& p, const Config& c, const std::optional<StreamPlan>& stream) {
  LaunchPlan launch = tile_grid(p, c);
  launch.entry = kernel_name(p, c);
  if (stream) {
    launch.grid[0] = stream->blocks;
    launch.blocks_per_sm = 1;
    launch.cooperative = true;
    launch.workspace_bytes = stream->workspace.bytes;
  }
  launch.shared_bytes = static_cast<std::uint32_t>(mma_sync::shared_bytes(p, c));
  launch.arguments = parameters(p, c, stream).arguments();
  return launch;
}

}  // namespace ptxloom::gemm_kernel::mma_sync
