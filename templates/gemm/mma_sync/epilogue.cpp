// SPDX-License-Identifier: Apache-2.0
#include "gemm/mma_sync/epilogue.hpp"

#include "ptxloom/kit/matrix_store.hpp"
#include "ptxloom/kit/row_copy.hpp"

namespace ptxloom::gemm_kernel::mma_sync {
namespace {

class StagedEpilogue {
 public:
  StagedEpilogue(KernelBuilder& k, const Problem& p, const Config& c, const EpilogueInputs& in)
      : k_(k), p_(p), c_(c), in_(in), part_(k, p, c, in) {}

  void run() {
    const int row_bytes = c_.tile_n * p_.d.type.bytes();
    const kit::SwizzledTile tile(c_.tile_m, row_bytes, kit::matrix_swizzle(row_bytes));
    const std::vector<kit::PackedPair> pairs = finished_pairs();
    k_.section("stage D in shared memory");
    k_.barrier();  // all warps are done with the operands there
    if (kit::has_stmatrix(k_) && !in_.column_order.interleaved)
      kit::store_matrices(k_, tile, pairs,
                          {.shared = in_.shared,
                           .row = in_.warp_row,
                           .column = in_.warp_column,
                           .lane = in_.lane,
                           .row_order = in_.row_order});
    else
      kit::store_pairs_shared(k_, tile, pairs, in_.shared, part_.row(), part_.column());
    k_.barrier();
    k_.section("store D row by row");
    kit::RowCopy(k_, {.type = p_.d.type, .unit = alignment(p_.d, p_.n, true), .threads = c_.threads()}, tile,
                 {.shared = in_.shared,
                  .row = in_.block_row,
                  .column = in_.block_column,
                  .thread = in_.thread,
                  .rows = in_.m,
                  .columns = in_.n,
                  .pointer = in_.d.pointer,
                  .ld = in_.d.ld})
        .copy(0, 0, 0);
  }

 private:
  std::vector<kit::PackedPair> finished_pairs() {
    std::vector<kit::PackedPair> pairs;
    for (const Run& run : part_.finish_pairs(part_.pair_runs())) {
      std::vector<Reg> results;
      for (const Reg& value : run.values) results.push_back(part_.to_result(value));
      pairs.push_back({run.row, run.column, k_.pack(b32, results)});
    }
    return pairs;
  }

  KernelBuilder& k_;
  const Problem& p_;
  const Config& c_;
  const EpilogueInputs& in_;
  ResultPart part_;
};

}  // namespace

void emit_epilogue(KernelBuilder& k, const Problem& problem, const Config& config, const EpilogueInputs& in) {
  config.staged ? StagedEpilogue(k, problem, config, in).run() : ResultPart(k, problem, config, in).store();
}

}  // namespace ptxloom::gemm_kernel::mma_sync
