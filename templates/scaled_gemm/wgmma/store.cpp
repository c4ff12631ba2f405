// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/wgmma/store.hpp"

#include <algorithm>
#include <functional>
#include <map>

#include "scaled_gemm/epilogue/element_store.hpp"
#include "scaled_gemm/weights/dequantiser.hpp"

namespace ptxloom::scaled_gemm::wgmma {
namespace {

constexpr int kWarpRows = 16;  // of the product: columns of D
constexpr int kMatrix = 8;     // rows and columns of a matrix of stmatrix
constexpr int kMatrices = 4;   // of stmatrix
constexpr int kRegisters = 4;  // of a thread, for 8 rows of D

}  // namespace

Store::Store(KernelBuilder& k, const Problem& p, const Config& c, const Plan& plan, Variant mma,
             const kit::ParamRegs& in, const StoreInputs& inputs)
    : k_(k), p_(p), c_(c), plan_(plan), mma_(mma), in_(in), inputs_(inputs) {}

// Once for each tile: registers that stay in use would be missing in the main loop.
void Store::place() {
  lane_ = k_.and_(inputs_.thread, 31);
  warp_ = k_.shr(inputs_.thread, 5);
  leads_ = k_.eq(inputs_.thread, 0);
  if (!staged(p_, c_)) return;
  buffers_ = k_.fma(inputs_.warpgroup, kStoreBuffers * plan_.store.bytes(), inputs_.stores);
  // Lane l gives the address of row l % 8 of matrix l / 8. A warp's 16 columns are matrices 0 and 1, and 2
  // and 3 below; with gates its 8 columns are all four, one below the other.
  const Reg below = k_.add(k_.and_(lane_, kMatrix - 1), k_.shr(k_.and_(lane_, 16), 1));
  const Reg row = p_.swiglu ? lane_ : below;
  const Reg column = p_.swiglu ? k_.mul(warp_, kMatrix) : k_.fma(warp_, kWarpRows, k_.and_(lane_, 8));
  place_ = k_.add(buffers_, plan_.store.tile().address(k_, row, k_.mul(column, p_.d.bytes())));
}

void Store::run(const kit::Accumulators& accumulators, const kit::TileOrigin& tile, int first) {
  k_.comment("store: rows of D are columns of the product");
  place();
  number_ = 0;
  const Results results(k_, p_, in_, tile);
  const Reg part = k_.fma(inputs_.warpgroup, row_tiles_of_warpgroup(c_) * kRows, tile.row);
  const auto each = [&](const std::function<void(const std::vector<Reg>&, Reg)>& store) {
    for (std::size_t i = 0; i < accumulators.size(); ++i)
      store(accumulators[i][0], k_.add(part, static_cast<int>(i) * kRows));
  };
  const auto elements = [&] {
    each(
        [&](const std::vector<Reg>& sums, Reg column) { store_results(sums, results, tile, column, first); });
  };
  const auto boxes = [&] {
    each([&](const std::vector<Reg>& sums, Reg column) { store_boxes(sums, results, tile, column); });
  };
  if (!staged(p_, c_)) return elements();
  if (!shares_boxes(p_)) return boxes();
  k_.if_(k_.le(k_.add(tile.column, c_.tile_m), tile.rows), boxes, elements);
}

void Store::run_unit(const kit::Accumulators& unit, const kit::TileOrigin& tile, Reg row, Reg column) {
  const std::vector<kit::AccumulatorPlace> places = kit::accumulator_places(mma_);
  const Reg lane = k_.and_(inputs_.thread, 31), warp = k_.shr(inputs_.thread, 5);
  const Reg part = k_.fma(inputs_.warpgroup, row_tiles_of_warpgroup(c_) * kRows, k_.add(tile.row, row));
  store_elements(k_, p_, in_, unit[0][0], places, Results(k_, p_, in_, tile), tile,
                 {.row = k_.add(tile.column, column), .column = k_.fma(warp, kWarpRows, part), .lane = lane});
}

void Store::store_results(const std::vector<Reg>& sums, const Results& results, const kit::TileOrigin& tile,
                          Reg column, int first) {
  const std::vector<kit::AccumulatorPlace> places = kit::accumulator_places(mma_);
  store_elements(k_, p_, in_, sums, std::span(places).subspan(static_cast<std::size_t>(first)), results, tile,
                 {.row = tile.column, .column = k_.fma(warp_, kWarpRows, column), .lane = lane_});
}

void Store::store_boxes(const std::vector<Reg>& sums, const Results& results, const kit::TileOrigin& tile,
                        Reg column) {
  const Reg stored = p_.swiglu ? k_.div(column, 2) : column, of_lane = k_.shr(lane_, 2);
  const int width = p_.swiglu ? kMatrix : kWarpRows;  // of a warp, in D
  const Place own{.row = k_.fma(k_.and_(lane_, 3), 2, tile.column),
                  .column = k_.add(k_.fma(warp_, kWarpRows, column), of_lane),
                  .stored = k_.add(k_.fma(warp_, width, stored), of_lane)};
  for (int box = 0; box < c_.tile_m / plan_.store.rows; ++box) {
    const int buffer = number_ % kStoreBuffers * plan_.store.bytes();
    await_buffer();
    write_box(sums, results, own, box, buffer == 0 ? place_ : k_.add(place_, buffer));
    kit::fence_for_bulk(k_);
    barrier();
    const std::vector at{stored, row_of_all(k_, p_, tile, k_.add(tile.column, box * plan_.store.rows))};
    k_.guarded(leads_, [&] {
      kit::tma_store(k_, in_["d_boxes"], at, k_.at(buffers_, buffer));
      kit::bulk_commit(k_);
    });
    ++number_;
  }
}

// The first box of a tile finds the stores of the tile before long finished; later ones leave the last in
// flight.
void Store::await_buffer() {
  k_.guarded(leads_, [&] { kit::bulk_wait_read(k_, number_ == 0 ? 0 : kStoreBuffers - 1); });
  barrier();
}

void Store::write_box(const std::vector<Reg>& sums, const Results& results, const Place& own, int box,
                      Reg buffer) {
  const std::vector<kit::AccumulatorPlace> places = kit::accumulator_places(mma_);
  std::map<int, ResultRow> rows;           // by column of the product
  std::map<int, ResultColumn> of_columns;  // by row of the product
  const auto scaled = [&](std::size_t i, const ResultRow& of_row) {
    const int row = places.at(i).row;
    const auto [column, fresh] = of_columns.try_emplace(row);
    if (fresh && p_.bias) column->second = results.column(k_.add(own.column, row));
    return results.scaled(sums.at(i), of_row, column->second);
  };
  const auto result = [&](std::size_t i) {
    const auto [place, fresh] = rows.try_emplace(places.at(i).column);
    if (fresh) place->second = results.row(k_.add(own.row, places.at(i).column));
    const ResultRow& of_row = place->second;
    Reg made = scaled(i, of_row);
    if (p_.swiglu) made = results.gated(made, scaled(i + kValueApart, of_row));
    const Reg column = p_.c && !p_.swiglu ? k_.add(own.stored, places.at(i).row) : own.stored;
    return results.result(made, of_row, column);
  };
  const int groups = plan_.store.rows / kMatrix, first = box * groups;
  const int beside = p_.swiglu ? 1 : 2, below = kMatrices / beside;
  for (int group = 0; group < groups; group += below) {
    std::vector<Reg> matrices;
    for (int i = 0; i < below; ++i)
      for (int half = 0; half < beside; ++half) {
        const auto at = static_cast<std::size_t>((first + group + i) * kRegisters + 2 * half);
        matrices.push_back(packed(result(at), result(at + 1)));
      }
    k_.emit("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16",
            plan_.store.tile().at(k_, buffer, group * kMatrix, 0), matrices);
  }
}

Reg Store::packed(Reg low, Reg high) {
  const Reg pair = k_.reg(b32);
  k_.emit("cvt.rn." + std::string(p_.d.name) + "x2.f32", pair, high, low);
  return pair;
}

void Store::barrier() { k_.barrier(k_.add(inputs_.warpgroup, 1), kWarpgroupThreads); }

void Store::finish() {
  if (staged(p_, c_)) k_.guarded(k_.eq(inputs_.thread, 0), [&] { kit::bulk_wait(k_); });
}

}  // namespace ptxloom::scaled_gemm::wgmma
