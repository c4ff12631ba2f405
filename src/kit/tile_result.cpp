// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/kit/tile_result.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "kit/convert.hpp"
#include "kit/element_terms.hpp"
#include "ptxloom/kit/mma.hpp"
#include "ptxloom/kit/vector_access.hpp"
#include "ptxloom/lower.hpp"

namespace ptxloom::kit {
namespace {

// Lane l holds lane 0's element (row, column) moved by l / 4 rows and l % 4 pairs of columns.
Reg rows_of_lane(KernelBuilder& k, const TileResultInputs& in) {
  return k.mul(k.shr(in.lane, 2), in.row_order.step());
}
Reg columns_of_lane(KernelBuilder& k, const TileResultInputs& in) {
  return k.mul(k.and_(in.lane, 3), 2 * in.column_order.step());
}

std::vector<ResultRun> elements_of(const TileResultInputs& in) {
  const std::vector<AccumulatorPlace> places = accumulator_places(in.mma);
  std::vector<ResultRun> elements;
  for (std::size_t i = 0; i < in.accumulators.size(); ++i)
    for (std::size_t j = 0; j < in.accumulators[i].size(); ++j)
      for (std::size_t reg = 0; reg < in.accumulators[i][j].size(); ++reg) {
        const AccumulatorPlace& place = places.at(reg);
        const int row = static_cast<int>(i) * in.mma_rows + place.row;
        // The two columns of a lane's pair are as far apart as adjacent lanes.
        const int pair = place.column & 1,
                  column = static_cast<int>(j) * in.mma_columns + place.column - pair;
        elements.push_back({in.row_order.origin(row),
                            in.column_order.origin(column) + pair * in.column_order.step(),
                            {in.accumulators[i][j][reg]}});
        if (in.swapped) std::swap(elements.back().row, elements.back().column);
      }
  std::sort(elements.begin(), elements.end(), [](const ResultRun& x, const ResultRun& y) {
    return x.row != y.row ? x.row < y.row : x.column < y.column;
  });
  return elements;
}

/// Two 8-bit results in the low half of a register, the first in the lowest bits.
Reg pack_bytes(KernelBuilder& k, Type type, Reg first, Reg second) {
  if (type != s8) {
    const std::string opcode = "cvt.rn.satfinite." + std::string(type.name) + "x2.f32";
    return KernelBuilder::as(b16, lower::op(k, opcode, second, first));
  }
  const auto whole = [&](Reg value) {
    const Reg rounded = k.reg(s32);
    k.emit("cvt.rni.s32.f32", rounded, value);
    return rounded;
  };
  const Reg packed = k.reg(b32);
  k.emit("cvt.pack.sat.s8.s32.b32", packed, whole(second), whole(first), 0);
  return packed;
}

}  // namespace

TileResultInputs swapped(TileResultInputs in) {
  std::swap(in.rows, in.columns);
  std::swap(in.block_row, in.block_column);
  std::swap(in.warp_row, in.warp_column);
  in.swapped = !in.swapped;
  return in;
}

class TileResult::Impl {
 public:
  Impl(KernelBuilder& k, const TileResultInputs& in)
      : k_(k),
        in_(in),
        elements_(elements_of(in)),
        row_(k.add(in.warp_row, in.swapped ? columns_of_lane(k, in) : rows_of_lane(k, in))),
        column_(k.add(in.warp_column, in.swapped ? rows_of_lane(k, in) : columns_of_lane(k, in))),
        row_of_d_(k.add(in.block_row, row_)),
        column_of_d_(k.add(in.block_column, column_)),
        rows_left_(KernelBuilder::as(s32, k.sub(in.rows, row_of_d_))),
        columns_left_(KernelBuilder::as(s32, k.sub(in.columns, column_of_d_))),
        terms_(k, in_.terms, row_of_d_, column_of_d_) {
    if (reads_c()) c_base_ = first_element(in.c);
  }

  Reg row() const { return row_; }
  Reg column() const { return column_; }

  /// All elements by rows, in runs of up to `width` elements that start at multiples of it.
  std::vector<ResultRun> runs(int width) const {
    std::vector<ResultRun> runs;
    for (const ResultRun& e : elements_) {
      const bool continues = !runs.empty() && runs.back().row == e.row && e.column % width != 0 &&
                             runs.back().column + static_cast<int>(runs.back().values.size()) == e.column;
      if (!continues) runs.push_back({e.row, e.column, {}});
      runs.back().values.push_back(e.values[0]);
    }
    return runs;
  }

  std::vector<ResultRun> pair_runs() const { return runs(reads_c() ? std::min(2, run_width(in_.c)) : 2); }

  std::vector<ResultRun> finish_pairs(const std::vector<ResultRun>& runs) {
    std::vector<ResultRun> pairs;
    const auto finish_row = [&](const Row& row, const std::vector<ResultRun>& of_row) {
      for (const ResultRun& run : of_row)
        for (const Reg& value : finish(row, run).values) {
          if (pairs.empty() || pairs.back().values.size() == 2) pairs.push_back({run.row, run.column, {}});
          pairs.back().values.push_back(value);
        }
    };
    for (const std::vector<ResultRun>& panel : panels(runs)) by_rows(panel, finish_row);
    return pairs;
  }

  Reg to_result(Reg value) {
    return in_.d.type == in_.terms.arithmetic ? value : convert(k_, in_.d.type, value);
  }

  Stored to_stored(const std::vector<Reg>& results) {
    Stored stored{.type = access_type(in_.d.type), .values = {}};
    if (in_.d.type.bits > 8) {
      for (const Reg& value : results) stored.values.push_back(to_result(value));
      return stored;
    }
    stored.type = results.size() == 1 ? b8 : b16;
    for (std::size_t i = 0; i < results.size(); i += 2)
      stored.values.push_back(
          pack_bytes(k_, in_.d.type, results[i], results[std::min(i + 1, results.size() - 1)]));
    return stored;
  }

  void store() {
    const Reg d_base = first_element(in_.d);
    const int width = reads_c() ? std::min(run_width(in_.d), run_width(in_.c)) : run_width(in_.d);
    const auto store_row = [&](const Row& row, const std::vector<ResultRun>& runs) {
      const Reg d_row = row_address(d_base, in_.d, row.number);
      for (const ResultRun& run : runs) {
        const auto [type, values] = to_stored(finish(row, run).values);
        const Address to = k_.at(d_row, run.column * in_.d.type.bytes());
        const Reg both = inside(row, run.column);
        k_.guarded(both, [&] { store_vector(k_, "st.global", type, to, values); });
      }
    };
    for (const std::vector<ResultRun>& panel : panels(runs(width))) by_rows(panel, store_row);
  }

 private:
  /// A row while its runs are processed.
  struct Row {
    int number = 0;
    Reg inside;  // predicate: the row lies in D
    Reg c;       // address of this lane's first element in C
    Reg factor;  // for its accumulators
  };

  bool reads_c() const { return in_.terms.beta.has_value(); }

  /// Adjacent elements of a row of C or D that one access may cover.
  int run_width(const ResultMatrix& matrix) const {
    const int most = in_.column_order.interleaved ? 4 : 2;
    return std::clamp(matrix.alignment / matrix.type.bytes(), 1, std::min(most, 16 / matrix.type.bytes()));
  }

  Reg first_element(const ResultMatrix& matrix) {
    const int bytes = matrix.type.bytes();
    const Reg row = k_.convert(u64, row_of_d_), ld = k_.convert(u64, matrix.ld);
    return k_.mad_wide(column_of_d_, bytes, k_.fma(k_.mul(row, ld), bytes, matrix.pointer));
  }

  Reg row_address(Reg base, const ResultMatrix& matrix, int row) {
    return row == 0 ? base : k_.add(base, k_.mul_wide(matrix.ld, row * matrix.type.bytes()));
  }

  /// Calls `body` for each row with its runs, which must be sorted by row.
  template <class Body>
  void by_rows(const std::vector<ResultRun>& runs, const Body& body) {
    columns_.clear();
    for (auto first = runs.begin(); first != runs.end();) {
      const auto last =
          std::find_if(first, runs.end(), [&](const ResultRun& run) { return run.row != first->row; });
      Row row{.number = first->row, .inside = k_.gt(rows_left_, first->row), .c = {}, .factor = {}};
      const auto known = row_factors_.find(row.number);
      row.factor = known != row_factors_.end() ? known->second : terms_.row_factor(row.number, row.inside);
      row_factors_[row.number] = row.factor;
      if (reads_c()) row.c = row_address(c_base_, in_.c, first->row);
      body(row, {first, last});
      first = last;
    }
  }

  /// The results for the accumulators of a run, in the arithmetic's type.
  ResultRun finish(const Row& row, const ResultRun& run) {
    const std::vector<Reg> c = reads_c() ? load_c(row, run) : std::vector<Reg>();
    ResultRun finished{run.row, run.column, {}};
    for (std::size_t i = 0; i < run.values.size(); ++i) {
      std::optional<Reg> old;
      if (reads_c())
        old = in_.c.type == in_.terms.arithmetic ? c[i] : convert(k_, in_.terms.arithmetic, c[i]);
      const auto& column = column_terms(run.column + static_cast<int>(i));
      finished.values.push_back(terms_.apply(run.values[i], row.factor, column, old));
    }
    return finished;
  }

  const ElementTerms::Column& column_terms(int column) {
    const auto known = columns_.find(column);
    if (known != columns_.end()) return known->second;
    if (!in_.terms.by_column()) return columns_[column];
    return columns_[column] = terms_.column(column, k_.gt(columns_left_, column));
  }

  /// Predicate: row and column both lie in D.
  Reg inside(const Row& row, int column) { return inside_row(k_, row.inside, columns_left_, column); }

  // Zeros outside C.
  std::vector<Reg> load_c(const Row& row, const ResultRun& run) {
    const Type type = in_.c.type;
    std::vector<Reg> c = zeros(k_, type, run.values.size());
    const Reg both = inside(row, run.column);
    k_.guarded(both, [&] {
      load_vector(k_, "ld.global", access_type(type), k_.at(row.c, run.column * type.bytes()), c);
    });
    return c;
  }

  // Per-column values stay in registers while the rows pass, so only a few columns are processed at a time.
  // A lane of a swapped product has few columns and many rows, whose factors and addresses a second panel
  // would keep in registers too.
  std::vector<std::vector<ResultRun>> panels(const std::vector<ResultRun>& runs) const {
    constexpr int kColumns = 16;
    if (!in_.terms.by_column() || in_.swapped) return {runs};
    std::map<int, std::vector<ResultRun>> by_column;
    for (const ResultRun& run : runs) by_column[run.column / kColumns].push_back(run);
    std::vector<std::vector<ResultRun>> panels;
    for (auto& [number, panel] : by_column) panels.push_back(std::move(panel));
    return panels;
  }

  KernelBuilder& k_;
  TileResultInputs in_;
  std::vector<ResultRun> elements_;  // of one value each
  Reg row_, column_;                 // of the lane's first element in the thread block's tile
  Reg row_of_d_, column_of_d_;       // the same in D
  Reg rows_left_, columns_left_;     // of D, from that element on
  ElementTerms terms_;
  Reg c_base_;
  std::map<int, ElementTerms::Column> columns_;  // of the rows being processed
  std::map<int, Reg> row_factors_;
};

TileResult::TileResult(KernelBuilder& k, const TileResultInputs& in) : impl_(std::make_unique<Impl>(k, in)) {}
TileResult::~TileResult() = default;
void TileResult::store() { impl_->store(); }
std::vector<ResultRun> TileResult::pair_runs() const { return impl_->pair_runs(); }
std::vector<ResultRun> TileResult::finish_pairs(const std::vector<ResultRun>& runs) {
  return impl_->finish_pairs(runs);
}
Reg TileResult::to_result(Reg value) { return impl_->to_result(value); }
TileResult::Stored TileResult::to_stored(const std::vector<Reg>& results) {
  return impl_->to_stored(results);
}
Reg TileResult::row() const { return impl_->row(); }
Reg TileResult::column() const { return impl_->column(); }

}  // namespace ptxloom::kit
