// SPDX-License-Identifier: Apache-2.0
#include "gemm/mma_sync/epilogue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "gemm/epilogue/row_copy.hpp"

namespace ptxloom::gemm_kernel::mma_sync {
namespace {

class StagedEpilogue {
 public:
  StagedEpilogue(KernelBuilder& k, const Problem& p, const Config& c, const EpilogueInputs& in)
      : k_(k), p_(p), c_(c), in_(in), part_(k, p, c, in) {}

  void run() {
    const int row_bytes = c_.tile_n * p_.d.type.bytes();
    const kit::SwizzledTile tile(c_.tile_m, row_bytes, kit::matrix_swizzle(row_bytes));
    const std::vector<Run> pairs = finished_pairs();
    k_.section("stage D in shared memory");
    k_.barrier();  // all warps are done with the operands there
    if (k_.has(stmatrix_opcode(4)) && !in_.column_order.interleaved)
      store_matrices(tile, pairs);
    else
      store_pairs(tile, pairs);
    k_.barrier();
    k_.section("store D row by row");
    RowCopy(k_, p_, tile,
            {.shared = in_.shared,
             .row = in_.block_row,
             .column = in_.block_column,
             .thread = in_.thread,
             .threads = c_.threads(),
             .m = in_.m,
             .n = in_.n,
             .d = in_.d})
        .copy(0, 0, 0);
  }

 private:
  // Two adjacent 16-bit values in a register.
  std::vector<Run> finished_pairs() {
    std::vector<Run> pairs = part_.finish_pairs(part_.pair_runs());
    for (Run& pair : pairs) {
      for (Reg& value : pair.values) value = part_.to_result(value);
      pair.values = {k_.pack(b32, pair.values)};
    }
    return pairs;
  }

  static std::string stmatrix_opcode(int matrices) {
    return fmt::format("stmatrix.sync.aligned.m8n8.x{}.shared.b16", matrices);
  }

  // One stmatrix.x2 stores two 8 x 8 matrices side by side along n; an x4 stores two rows of such pairs.
  void store_matrices(const kit::SwizzledTile& tile, std::vector<Run> pairs) {
    constexpr int kMatrices = 4;
    std::sort(pairs.begin(), pairs.end(), [](const Run& x, const Run& y) {
      return x.row != y.row ? x.row < y.row : x.column < y.column;
    });
    const Reg row_in_matrix = k_.mul(k_.and_(in_.lane, 7), in_.row_order.step());
    const int across =
        std::min(kMatrices, c_.warp_n() / 8);  // the rest of the group is in the next row of matrices
    const Reg matrix = k_.shr(in_.lane, 3);
    const Reg row = k_.add(in_.warp_row, row_in_matrix);
    Reg column = k_.fma(matrix, 8, in_.warp_column);
    if (across < kMatrices) column = k_.fma(k_.and_(matrix, across - 1), 8, in_.warp_column);
    const Reg rest = k_.shr(matrix, across == 4 ? 2 : 1);
    const int rows_apart = pairs[static_cast<std::size_t>(c_.warp_n() / 8)].row - pairs[0].row;
    const Reg group_row = across == 4 ? row : k_.fma(rest, rows_apart, row);
    const Reg base = k_.add(in_.shared, tile.address(k_, group_row, k_.mul(column, p_.d.type.bytes())));
    for (std::size_t i = 0; i < pairs.size(); i += kMatrices) {
      std::vector<Reg> group;
      for (std::size_t j = 0; j < kMatrices; ++j) group.push_back(pairs[i + j].values[0]);
      k_.emit(stmatrix_opcode(kMatrices),
              tile.at(k_, base, pairs[i].row, pairs[i].column * p_.d.type.bytes()), group);
    }
  }

  void store_pairs(const kit::SwizzledTile& tile, const std::vector<Run>& pairs) {
    const Reg base =
        k_.add(in_.shared, tile.address(k_, part_.row(), k_.mul(part_.column(), p_.d.type.bytes())));
    for (const Run& pair : pairs) {
      k_.emit("st.shared.b32", tile.at(k_, base, pair.row, pair.column * p_.d.type.bytes()), pair.values[0]);
    }
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
