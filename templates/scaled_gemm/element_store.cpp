// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/element_store.hpp"

#include <map>
#include <optional>

namespace ptxloom::scaled_gemm {
namespace {

constexpr std::size_t kValueApart = 2;  // registers from a gate to its value

/// A row of D that a thread has elements of.
struct StoredRow {
  Reg pointer;  // this thread's first element
  Reg inside;   // predicate
  std::optional<Reg> weight;
};

/// The rows of a thread, each computed when its first element is stored, from the one before.
class StoredRows {
 public:
  StoredRows(KernelBuilder& k, const Problem& p, const kit::ParamRegs& in, const SumScale& scaled,
             const kit::TileOrigin& tile, Reg first_row, Reg first_column)
      : k_(k), scaled_(scaled), tile_(tile), first_row_(first_row) {
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
        .pointer = pointer_, .inside = k_.lt(number, tile_.rows), .weight = scaled_.weight(number)};
    return place->second;
  }

 private:
  Reg step(int rows) {
    const auto [place, fresh] = steps_.try_emplace(rows);
    if (fresh) place->second = rows == 1 ? pitch_ : k_.mul(pitch_, rows);
    return place->second;
  }

  KernelBuilder& k_;
  const SumScale& scaled_;
  const kit::TileOrigin& tile_;
  Reg first_row_, pitch_;  // `pitch_`: bytes
  Reg pointer_;            // of row `row_`
  int row_ = 0;
  std::map<int, Reg> steps_;  // bytes, by rows
  std::map<int, StoredRow> rows_;
};

}  // namespace

void store_elements(KernelBuilder& k, const Problem& p, const kit::ParamRegs& in, std::span<const Reg> sums,
                    std::span<const kit::AccumulatorPlace> places, const SumScale& scaled,
                    const kit::TileOrigin& tile, const ElementPlace& at) {
  const Reg own_column = k.add(p.swiglu ? k.div(at.column, 2) : at.column, k.shr(at.lane, 2));
  const Reg columns = p.swiglu ? k.div(in["n"], 2) : in["n"];
  StoredRows rows(k, p, in, scaled, tile, k.add(at.row, k.mul(k.and_(at.lane, 3), 2)), own_column);
  std::map<int, Reg> inside;  // by column
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const bool is_value = places[i].row % (2 * kGateColumns) >= kGateColumns;
    if (p.swiglu && is_value) continue;
    const int column = p.swiglu ? places[i].row / 2 : places[i].row;
    if (!inside.contains(column)) inside[column] = k.lt(k.add(own_column, column), columns);
    const StoredRow& row = rows.at(places[i].column);
    Reg result = p.swiglu ? scaled.gated(sums[i], sums[i + kValueApart]) : scaled.scaled(sums[i]);
    if (row.weight) result = k.mul(result, *row.weight);
    const Reg value = k.convert(p.d, result);
    k.guarded(k.and_(row.inside, inside.at(column)),
              [&] { k.store("global", p.d, k.at(row.pointer, column * p.d.bytes()), value); });
  }
}

}  // namespace ptxloom::scaled_gemm
