// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/epilogue/element_store.hpp"

#include <map>

namespace ptxloom::scaled_gemm {
namespace {

/// A row of D that a thread has elements of.
struct StoredRow {
  Reg pointer;  // this thread's first element
  Reg inside;   // predicate
  ResultRow values;
};

/// The rows of a thread, each computed when its first element is stored, from the one before.
class StoredRows {
 public:
  StoredRows(KernelBuilder& k, const Problem& p, const kit::ParamRegs& in, const Results& results,
             const kit::TileOrigin& tile, Reg first_row, Reg first_column)
      : k_(k), results_(results), tile_(tile), first_row_(first_row) {
    pitch_ = k.mul_wide(in["ldd"], p.d.bytes());
    const Reg row = k.convert(u64, row_of_all(k, p, tile, first_row));
    pointer_ = k.fma(row, pitch_, k.mad_wide(first_column, p.d.bytes(), in["d"]));
  }

  const StoredRow& at(int row) {
    const auto [place, fresh] = rows_.try_emplace(row);
    if (!fresh) return place->second;
    const Reg number = k_.add(first_row_, row);
    if (row != row_) pointer_ = k_.add(pointer_, step(row - row_));
    row_ = row;
    place->second = {
        .pointer = pointer_, .inside = k_.lt(number, tile_.rows), .values = results_.row(number)};
    return place->second;
  }

 private:
  Reg step(int rows) {
    const auto [place, fresh] = steps_.try_emplace(rows);
    if (fresh) place->second = rows == 1 ? pitch_ : k_.mul(pitch_, rows);
    return place->second;
  }

  KernelBuilder& k_;
  const Results& results_;
  const kit::TileOrigin& tile_;
  Reg first_row_, pitch_;  // `pitch_`: bytes
  Reg pointer_;            // of row `row_`
  int row_ = 0;
  std::map<int, Reg> steps_;  // bytes, by rows
  std::map<int, StoredRow> rows_;
};

}  // namespace

void store_elements(KernelBuilder& k, const Problem& p, const kit::ParamRegs& in, std::span<const Reg> sums,
                    std::span<const kit::AccumulatorPlace> places, const Results& results,
                    const kit::TileOrigin& tile, const ElementPlace& at) {
  const Reg of_lane = k.shr(at.lane, 2);
  const Reg own_column = k.add(p.swiglu ? k.div(at.column, 2) : at.column, of_lane);
  const Reg columns = p.swiglu ? k.div(in["n"], 2) : in["n"];
  StoredRows rows(k, p, in, results, tile, k.add(at.row, k.mul(k.and_(at.lane, 3), 2)), own_column);
  std::map<int, Reg> inside;               // by column of D
  std::map<int, ResultColumn> of_columns;  // by column of the product
  const auto scaled = [&](std::size_t i, const ResultRow& row) {
    const auto [place, fresh] = of_columns.try_emplace(places[i].row);
    if (fresh && p.bias) place->second = results.column(k.add(k.add(at.column, of_lane), places[i].row));
    return results.scaled(sums[i], row, place->second);
  };
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const bool is_value = places[i].row % (2 * kGateColumns) >= kGateColumns;
    if (p.swiglu && is_value) continue;
    const int column = p.swiglu ? places[i].row / 2 : places[i].row;
    if (!inside.contains(column)) inside[column] = k.lt(k.add(own_column, column), columns);
    const StoredRow& row = rows.at(places[i].column);
    Reg made = scaled(i, row.values);
    if (p.swiglu) made = results.gated(made, scaled(i + kValueApart, row.values));
    made = results.result(made, row.values, p.c ? k.add(own_column, column) : own_column);
    const Reg value = k.convert(p.d, made);
    k.guarded(k.and_(row.inside, inside.at(column)),
              [&] { k.store("global", p.d, k.at(row.pointer, column * p.d.bytes()), value); });
  }
}

}  // namespace ptxloom::scaled_gemm
