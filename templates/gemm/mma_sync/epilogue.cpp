// SPDX-License-Identifier: Apache-2.0
#include "gemm/mma_sync/epilogue.hpp"

#include "ptxloom/kit/matrix_store.hpp"
#include "ptxloom/kit/row_copy.hpp"

namespace ptxloom::gemm_kernel::mma_sync {
namespace {

class StagedEpilogue {
 public:
  StagedEpilogue(KernelBuilder& k, const Config& c, const kit::TileResultInputs& in,
                 const StagingInputs& staging)
      : k_(k), c_(c), in_(in), staging_(staging), result_(k, in) {}

  void run() {
    const int row_bytes = c_.tile_n * in_.d.type.bytes();
    const kit::SwizzledTile tile(c_.tile_m, row_bytes, kit::matrix_swizzle(row_bytes));
    const std::vector<kit::PackedPair> pairs = finished_pairs();
    k_.section("stage D in shared memory");
    k_.barrier();  // all warps are done with the operands there
    if (kit::has_stmatrix(k_) && !in_.column_order.interleaved)
      kit::store_matrices(k_, tile, pairs,
                          {.shared = staging_.shared,
                           .row = in_.warp_row,
                           .column = in_.warp_column,
                           .lane = in_.lane,
                           .row_order = in_.row_order});
    else
      kit::store_pairs_shared(k_, tile, pairs, staging_.shared, result_.row(), result_.column());
    k_.barrier();
    k_.section("store D row by row");
    kit::RowCopy(k_, {.type = in_.d.type, .unit = in_.d.alignment, .threads = c_.threads()}, tile,
                 {.shared = staging_.shared,
                  .row = in_.block_row,
                  .column = in_.block_column,
                  .thread = staging_.thread,
                  .rows = in_.rows,
                  .columns = in_.columns,
                  .pointer = in_.d.pointer,
                  .ld = in_.d.ld})
        .copy(0, 0, 0);
  }

 private:
  std::vector<kit::PackedPair> finished_pairs() {
    std::vector<kit::PackedPair> pairs;
    for (const kit::ResultRun& run : result_.finish_pairs(result_.pair_runs())) {
      std::vector<Reg> results;
      for (const Reg& value : run.values) results.push_back(result_.to_result(value));
      pairs.push_back({run.row, run.column, k_.pack(b32, results)});
    }
    return pairs;
  }

  KernelBuilder& k_;
  const Config& c_;
  const kit::TileResultInputs& in_;
  const StagingInputs& staging_;
  kit::TileResult result_;
};

}  // namespace

void emit_epilogue(KernelBuilder& k, const Config& config, const kit::TileResultInputs& in,
                   const StagingInputs& staging) {
  config.staged ? StagedEpilogue(k, config, in, staging).run() : kit::TileResult(k, in).store();
}

}  // namespace ptxloom::gemm_kernel::mma_sync
