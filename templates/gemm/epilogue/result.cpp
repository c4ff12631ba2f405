// SPDX-License-Identifier: Apache-2.0
#include "gemm/epilogue/result.hpp"

#include <algorithm>

#include "ptxloom/kit/mma.hpp"
#include "ptxloom/kit/vector_access.hpp"

namespace ptxloom::gemm_kernel {
namespace {

// Lane l holds lane 0's element (row, column) moved by l / 4 rows and l % 4 pairs of columns.
Reg rows_of_lane(KernelBuilder& k, const EpilogueInputs& in) {
  return k.mul(k.shr(in.lane, 2), in.row_order.step());
}
Reg columns_of_lane(KernelBuilder& k, const EpilogueInputs& in) {
  return k.mul(k.and_(in.lane, 3), 2 * in.column_order.step());
}

std::vector<Run> elements_of(const Config& c, const EpilogueInputs& in) {
  const std::vector<kit::AccumulatorPlace> places = kit::accumulator_places(c.mma);
  std::vector<Run> elements;
  for (std::size_t i = 0; i < in.accumulators.size(); ++i)
    for (std::size_t j = 0; j < in.accumulators[i].size(); ++j)
      for (std::size_t reg = 0; reg < in.accumulators[i][j].size(); ++reg) {
        const kit::AccumulatorPlace& place = places.at(reg);
        const int row = static_cast<int>(i) * c.mma_m + place.row;
        // The two columns of a lane's pair are as far apart as adjacent lanes.
        const int pair = place.column & 1, column = static_cast<int>(j) * c.mma_n + place.column - pair;
        elements.push_back({in.row_order.origin(row),
                            in.column_order.origin(column) + pair * in.column_order.step(),
                            {in.accumulators[i][j][reg]}});
        if (in.swapped) std::swap(elements.back().row, elements.back().column);
      }
  std::sort(elements.begin(), elements.end(),
            [](const Run& x, const Run& y) { return x.row != y.row ? x.row < y.row : x.column < y.column; });
  return elements;
}

}  // namespace

EpilogueInputs swapped(EpilogueInputs in) {
  std::swap(in.m, in.n);
  std::swap(in.block_row, in.block_column);
  std::swap(in.warp_row, in.warp_column);
  in.swapped = !in.swapped;
  return in;
}

ResultPart::ResultPart(KernelBuilder& k, const Problem& p, const Config& c, const EpilogueInputs& in)
    : k_(k),
      p_(p),
      in_(in),
      elements_(elements_of(c, in)),
      row_(k.add(in.warp_row, in.swapped ? columns_of_lane(k, in) : rows_of_lane(k, in))),
      column_(k.add(in.warp_column, in.swapped ? rows_of_lane(k, in) : columns_of_lane(k, in))),
      row_of_d_(k.add(in.block_row, row_)),
      column_of_d_(k.add(in.block_column, column_)),
      rows_left_(KernelBuilder::as(s32, k.sub(in.m, row_of_d_))),
      columns_left_(KernelBuilder::as(s32, k.sub(in.n, column_of_d_))),
      terms_(k, p, in.terms, row_of_d_, column_of_d_) {
  if (p.reads_c()) c_base_ = first_element(in.c, p.c.type);
}

std::vector<Run> ResultPart::runs(int width) const {
  std::vector<Run> runs;
  for (const Run& e : elements_) {
    const bool continues = !runs.empty() && runs.back().row == e.row && e.column % width != 0 &&
                           runs.back().column + static_cast<int>(runs.back().values.size()) == e.column;
    if (!continues) runs.push_back({e.row, e.column, {}});
    runs.back().values.push_back(e.values[0]);
  }
  return runs;
}

int ResultPart::run_width(const Result& result) const {
  const int bytes = alignment(result, p_.n, true);
  const int most = in_.column_order.interleaved ? 4 : 2;
  return std::clamp(bytes / result.type.bytes(), 1, std::min(most, 16 / result.type.bytes()));
}

Reg ResultPart::first_element(const ResultSource& source, Type type) {
  const Reg row = k_.convert(u64, row_of_d_), ld = k_.convert(u64, source.ld);
  return k_.mad_wide(column_of_d_, type.bytes(), k_.fma(k_.mul(row, ld), type.bytes(), source.pointer));
}

Reg ResultPart::row_address(Reg base, const ResultSource& source, Type type, int row) {
  return row == 0 ? base : k_.add(base, k_.mul_wide(source.ld, row * type.bytes()));
}

void ResultPart::by_rows(const std::vector<Run>& runs,
                         const std::function<void(const Row&, const std::vector<Run>&)>& body) {
  columns_.clear();
  for (auto first = runs.begin(); first != runs.end();) {
    const auto last = std::find_if(first, runs.end(), [&](const Run& run) { return run.row != first->row; });
    Row row{.number = first->row, .inside = k_.gt(rows_left_, first->row), .c = {}, .factor = {}};
    const auto known = row_factors_.find(row.number);
    row.factor = known != row_factors_.end() ? known->second : terms_.row_factor(row.number, row.inside);
    row_factors_[row.number] = row.factor;
    if (p_.reads_c()) row.c = row_address(c_base_, in_.c, p_.c.type, first->row);
    body(row, {first, last});
    first = last;
  }
}

Run ResultPart::finish(const Row& row, const Run& run) {
  const std::vector<Reg> c = p_.reads_c() ? load_c(row, run) : std::vector<Reg>();
  Run finished{run.row, run.column, {}};
  for (std::size_t i = 0; i < run.values.size(); ++i) {
    std::optional<Reg> old;
    if (p_.reads_c()) old = p_.c.type == p_.arithmetic ? c[i] : k_.convert(p_.arithmetic, c[i]);
    const auto& column = column_terms(run.column + static_cast<int>(i));
    finished.values.push_back(terms_.apply(run.values[i], row.factor, column, old));
  }
  return finished;
}

const TermEmitter::Column& ResultPart::column_terms(int column) {
  const auto known = columns_.find(column);
  if (known != columns_.end()) return known->second;
  if (!p_.terms.by_column()) return columns_[column];
  return columns_[column] = terms_.column(column, k_.gt(columns_left_, column));
}

std::vector<Run> ResultPart::finish_pairs(const std::vector<Run>& runs) {
  std::vector<Run> pairs;
  const auto finish_row = [&](const Row& row, const std::vector<Run>& of_row) {
    for (const Run& run : of_row)
      for (const Reg& value : finish(row, run).values) {
        if (pairs.empty() || pairs.back().values.size() == 2) pairs.push_back({run.row, run.column, {}});
        pairs.back().values.push_back(value);
      }
  };
  for (const std::vector<Run>& panel : panels(runs)) by_rows(panel, finish_row);
  return pairs;
}

Reg ResultPart::to_result(Reg value) {
  return p_.d.type == p_.arithmetic ? value : k_.convert(p_.d.type, value);
}

ResultPart::Stored ResultPart::to_stored(const std::vector<Reg>& results) {
  Stored stored{.type = kit::access_type(p_.d.type), .values = {}};
  if (p_.d.type.bits > 8) {
    for (const Reg& value : results) stored.values.push_back(to_result(value));
    return stored;
  }
  stored.type = results.size() == 1 ? b8 : b16;
  for (std::size_t i = 0; i < results.size(); i += 2)
    stored.values.push_back(
        pack_bytes(k_, p_.d.type, results[i], results[std::min(i + 1, results.size() - 1)]));
  return stored;
}

Reg ResultPart::inside(const Row& row, int column) {
  return kit::inside_row(k_, row.inside, columns_left_, column);
}

// Zeros outside C.
std::vector<Reg> ResultPart::load_c(const Row& row, const Run& run) {
  const Type type = p_.c.type;
  std::vector<Reg> c = kit::zeros(k_, type, run.values.size());
  const Reg both = inside(row, run.column);
  k_.guarded(both, [&] {
    kit::load_vector(k_, "ld.global", kit::access_type(type), k_.at(row.c, run.column * type.bytes()), c);
  });
  return c;
}

void ResultPart::store() {
  const Reg d_base = first_element(in_.d, p_.d.type);
  const int width = p_.reads_c() ? std::min(run_width(p_.d), run_width(p_.c)) : run_width(p_.d);
  const auto store_row = [&](const Row& row, const std::vector<Run>& runs) {
    const Reg d_row = row_address(d_base, in_.d, p_.d.type, row.number);
    for (const Run& run : runs) {
      const auto [type, values] = to_stored(finish(row, run).values);
      const Address to = k_.at(d_row, run.column * p_.d.type.bytes());
      const Reg both = inside(row, run.column);
      k_.guarded(both, [&] { kit::store_vector(k_, "st.global", type, to, values); });
    }
  };
  for (const std::vector<Run>& panel : panels(runs(width))) by_rows(panel, store_row);
}

// Per-column values stay in registers while the rows pass, so only a few columns are processed at a time.
std::vector<std::vector<Run>> ResultPart::panels(const std::vector<Run>& runs) const {
  constexpr int kColumns = 16;
  if (!p_.terms.by_column()) return {runs};
  std::map<int, std::vector<Run>> by_column;
  for (const Run& run : runs) by_column[run.column / kColumns].push_back(run);
  std::vector<std::vector<Run>> panels;
  for (auto& [number, panel] : by_column) panels.push_back(std::move(panel));
  return panels;
}

}  // namespace ptxloom::gemm_kernel
