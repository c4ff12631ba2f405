// SPDX-License-Identifier: Apache-2.0
#include "gemm/mma_sync/launch.hpp"

#include "gemm/epilogue/terms.hpp"
#include "gemm/launch/batch.hpp"
#include "gemm/launch/launch.hpp"
#include "gemm/mma_sync/choice.hpp"

namespace ptxloom::gemm_kernel::mma_sync {

std::vector<std::string_view> pointers(const Problem& p) {
  return p.reads_c() ? std::vector<std::string_view>{"a", "b", "c", "d"}
                     : std::vector<std::string_view>{"a", "b", "d"};
}

LaunchPlan launch_plan(const Problem& p, const Config& c, const std::optional<StreamPlan>& stream) {
  LaunchPlan launch = tile_grid(p, c);
  launch.entry = kernel_name(p, c);
  if (stream) {
    launch.grid[0] = stream->blocks;
    launch.blocks_per_sm = 1;
    launch.cooperative = true;
    launch.workspace_bytes = stream->workspace_bytes;
  }
  launch.shared_bytes = static_cast<std::uint32_t>(mma_sync::shared_bytes(p, c));
  LaunchArgumentList add{p, launch.arguments};
  add.size("m", p.m), add.size("n", p.n), add.size("k", p.k);
  add.pointer("a"), add.pointer("b");
  if (stream) add.pointer(kWorkspace);
  if (p.reads_c()) add.pointer("c");
  add.pointer("d");
  add.size("lda", p.a.ld), add.size("ldb", p.b.ld);
  if (p.reads_c()) add.size("ldc", p.c.ld);
  add.size("ldd", p.d.ld);
  add_term_arguments(add, p);
  add_batch_arguments(add, pointers(p));
  return launch;
}

}  // namespace ptxloom::gemm_kernel::mma_sync
