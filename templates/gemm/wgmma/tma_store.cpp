// SPDX-License-Identifier: Apache-2.0
#include "gemm/wgmma/tma_store.hpp"

#include <algorithm>
#include <map>

#include "ptxloom/kit/matrix_store.hpp"
#include "ptxloom/kit/row_copy.hpp"
#include "ptxloom/kit/vector_access.hpp"

namespace ptxloom::gemm_kernel::wgmma {
namespace {

class TensorStores {
 public:
  TensorStores(KernelBuilder& k, const Config& c, const Plan& plan, const kit::TileResultInputs& tile,
               const StoreInputs& in)
      : k_(k), c_(c), plan_(plan), in_(in), result_in_(tile), result_(k, tile), tile_(plan.store.tile()) {}

  void run() {
    if (!plan_.tma_stores_d) rows_.emplace(row_copy());
    const bool matrices = result_in_.d.type.bits == 16;
    const Reg first = matrices ? matrix_address() : pair_address();
    const std::vector<kit::ResultRun> runs = result_.pair_runs();
    const int across = warpgroup_n(c_) / plan_.store.width, down = warpgroup_m(c_) / plan_.store.rows;
    for (int number = 0; number < down * across; ++number) {
      const int row = number / across * plan_.store.rows, column = number % across * plan_.store.width;
      const int buffer = number % kStoreBuffers;
      k_.comment("store: rows " + std::to_string(row) + ", columns " + std::to_string(column) + " on");
      await_buffer(number);
      const std::vector<kit::ResultRun> pairs = result_.finish_pairs(runs_of_box(runs, row, column));
      const Reg base = buffer == 0 ? first : k_.add(first, buffer * plan_.store.bytes());
      matrices ? store_matrices(base, pairs, row, column) : store_pairs(base, pairs, row, column);
      copy(buffer, row, column);
    }
  }

 private:
  std::vector<kit::ResultRun> runs_of_box(const std::vector<kit::ResultRun>& runs, int row,
                                          int column) const {
    std::vector<kit::ResultRun> inside;
    std::ranges::copy_if(runs, std::back_inserter(inside), [&](const kit::ResultRun& run) {
      return run.row >= row && run.row < row + plan_.store.rows && run.column >= column &&
             run.column < column + plan_.store.width;
    });
    return inside;
  }

  // The first box of a tile finds the TMA stores of the previous tile long finished; later boxes leave the
  // most recent store in flight. A box that threads copy is done once they synchronise for the next one.
  void await_buffer(int number) {
    if (!plan_.tma_stores_d) {
      if (number == 0) barrier();
    } else if (number == 0 || number >= kStoreBuffers) {
      k_.guarded(in_.leads, [&] { kit::bulk_wait_read(k_, number == 0 ? 0 : kStoreBuffers - 1); });
      barrier();
    }
  }

  void barrier() { k_.emit("bar.sync", in_.barrier, kWarpgroupThreads); }

  void copy(int buffer, int row, int column) {
    plan_.tma_stores_d ? copy_box(buffer, row, column) : copy_rows(buffer, row, column);
  }

  kit::RowCopy row_copy() {
    return {k_,
            {.type = result_in_.d.type, .unit = result_in_.d.alignment, .threads = kWarpgroupThreads},
            tile_,
            {.shared = in_.buffers,
             .row = in_.row,
             .column = in_.column,
             .thread = k_.and_(in_.thread, kWarpgroupThreads - 1),
             .rows = result_in_.rows,
             .columns = result_in_.columns,
             .pointer = result_in_.d.pointer,
             .ld = result_in_.d.ld}};
  }

  void copy_rows(int buffer, int row, int column) {
    barrier();
    rows_->copy(buffer * plan_.store.bytes(), row, column);
  }

  void copy_box(int buffer, int row, int column) {
    kit::fence_for_bulk(k_);
    barrier();
    std::vector<Reg> at{column == 0 ? in_.column : k_.add(in_.column, column),
                        row == 0 ? in_.row : k_.add(in_.row, row)};
    if (in_.batch) at.push_back(*in_.batch);
    Reg stores = in_.leads;
    if (in_.rows) {
      stores = k_.reg(pred);
      k_.emit("setp.lt.and.u32", stores, at[1], *in_.rows, in_.leads);
    }
    k_.guarded(stores,
               [&] { kit::tma_store(k_, in_.map, at, k_.at(in_.buffers, buffer * plan_.store.bytes())); });
    // Even if there is no store, because bulk groups are counted.
    k_.guarded(in_.leads, [&] { kit::bulk_commit(k_); });
  }

  // ---- 16-bit results: 8 x 8 matrices, two below each other and, if the box is wide enough, two side by
  // side

  Reg warp_row() { return k_.and_(result_in_.warp_row, kWgmmaRows - 1); }

  Reg matrix_address() {
    const Reg row = k_.add(k_.add(warp_row(), k_.and_(result_in_.lane, 7)), k_.and_(result_in_.lane, 8));
    const Reg byte = plan_.store.row_bytes > 16 ? k_.and_(result_in_.lane, 16) : k_.mov(u32, 0);
    return k_.add(in_.buffers, tile_.address(k_, row, byte));
  }

  void store_matrices(Reg base, const std::vector<kit::ResultRun>& pairs, int row, int column) {
    std::map<std::pair<int, int>, std::vector<Reg>> groups;  // by column of the group, then by matrix
    const int wide = plan_.store.row_bytes > 16 ? 16 : 8;
    std::map<std::pair<int, int>, Reg> matrices;
    for (const kit::ResultRun& pair : pairs)
      matrices[{pair.column - column, pair.row - row}] = pack(pair.values);
    for (const auto& [place, value] : matrices) groups[{place.first / wide * wide, 0}].push_back(value);
    for (const auto& [place, values] : groups) kit::stmatrix(k_, place_of(base, 0, place.first), values);
  }

  // Two results in one register, the first in the low half.
  Reg pack(const std::vector<Reg>& pair) {
    const Reg packed = k_.reg(b32);
    k_.emit("cvt.rn." + std::string(result_in_.d.type.name) + "x2.f32", packed, pair[1], pair[0]);
    return packed;
  }

  // ---- other results, pair by pair

  Reg pair_address() {
    const Reg row = k_.add(warp_row(), k_.shr(result_in_.lane, 2));
    return k_.add(in_.buffers,
                  tile_.address(k_, row, k_.mul(k_.and_(result_in_.lane, 3), 2 * result_in_.d.type.bytes())));
  }

  void store_pairs(Reg base, const std::vector<kit::ResultRun>& pairs, int row, int column) {
    for (const kit::ResultRun& pair : pairs) {
      const auto [type, values] = result_.to_stored(pair.values);
      kit::store_vector(k_, "st.shared", type, place_of(base, pair.row - row, pair.column - column), values);
    }
  }

  Address place_of(Reg base, int row, int column) {
    return tile_.at(k_, base, row, column * result_in_.d.type.bytes());
  }

  KernelBuilder& k_;
  const Config& c_;
  const Plan& plan_;
  const StoreInputs& in_;
  const kit::TileResultInputs& result_in_;
  kit::TileResult result_;
  kit::SwizzledTile tile_;
  std::optional<kit::RowCopy> rows_;
};

}  // namespace

void emit_tma_stores(KernelBuilder& k, const Config& config, const Plan& plan,
                     const kit::TileResultInputs& result, const StoreInputs& in) {
  TensorStores(k, config, plan, result, in).run();
}

void await_tma_stores(KernelBuilder& k, const StoreInputs& in) {
  k.guarded(in.leads, [&] { kit::bulk_wait(k); });
}

}  // namespace ptxloom::gemm_kernel::wgmma
