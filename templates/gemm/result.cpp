// SPDX-License-Identifier: Apache-2.0
#include "result.hpp"

#include <algorithm>
#include <string>

namespace ptxloom::gemm_kernel {
namespace {

// Element (row, column) of lane 0 moves by lane / 4 rows and lane % 4 pairs of columns from lane to lane.
std::vector<Run> elements_of(const Config& c, const EpilogueInputs& in) {
  const Layout map = layout(c.mma, "D");
  std::vector<Run> elements;
  for (std::size_t i = 0; i < in.accumulators.size(); ++i)
    for (std::size_t j = 0; j < in.accumulators[i].size(); ++j)
      for (std::size_t reg = 0; reg < in.accumulators[i][j].size(); ++reg) {
        const LayoutElement& place = map.at(0, static_cast<int>(reg));
        const int row = static_cast<int>(i) * c.mma_m + place.row;
        // The pair of columns of a lane lies as far apart as its lanes do.
        const int pair = place.col & 1, column = static_cast<int>(j) * c.mma_n + place.col - pair;
        elements.push_back({in.row_order.origin(row),
                            in.column_order.origin(column) + pair * in.column_order.step(),
                            {in.accumulators[i][j][reg]}});
      }
  std::sort(elements.begin(), elements.end(),
            [](const Run& x, const Run& y) { return x.row != y.row ? x.row < y.row : x.column < y.column; });
  return elements;
}

std::string vector_word(std::string_view opcode, Type type, std::size_t count) {
  return std::string(opcode) + (count > 1 ? "v" + std::to_string(count) + "." : "") +
         std::string(memory_type(type).name);
}

void load_global(KernelBuilder& k, Type type, Address from, const std::vector<Reg>& values) {
  const std::string opcode = vector_word("ld.global.", type, values.size());
  values.size() == 1 ? k.emit(opcode, values[0], from) : k.emit(opcode, values, from);
}

void store_global(KernelBuilder& k, Type type, Address to, const std::vector<Reg>& values) {
  const std::string opcode = vector_word("st.global.", type, values.size());
  values.size() == 1 ? k.emit(opcode, to, values[0]) : k.emit(opcode, to, values);
}

}  // namespace

Type memory_type(Type type) {
  if (type == f32 || type == f64) return type;
  return type.bits == 16 ? b16 : b32;
}

Reg inside_row(KernelBuilder& k, Reg row_inside, Reg left, int column) {
  const Reg both = k.reg(pred);
  k.emit("setp.gt.and.s32", both, left, column, row_inside);
  return both;
}

ResultPart::ResultPart(KernelBuilder& k, const Problem& p, const Config& c, const EpilogueInputs& in)
    : k_(k), p_(p), in_(in), elements_(elements_of(c, in)) {
  row_ = k.add(in.warp_row, k.mul(k.shr(in.lane, 2), in.row_order.step()));
  column_ = k.add(in.warp_column, k.mul(k.and_(in.lane, 3), 2 * in.column_order.step()));
  const Reg rows = k.sub(in.m, k.add(in.block_row, row_)),
            columns = k.sub(in.n, k.add(in.block_column, column_));
  rows_left_ = KernelBuilder::as(s32, rows);
  columns_left_ = KernelBuilder::as(s32, columns);
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
  const int bytes = alignment(result.type, result.ld, p_.n, true);
  const int most = in_.column_order.interleaved ? 4 : 2;
  return std::clamp(bytes / result.type.bytes(), 1, std::min(most, 16 / result.type.bytes()));
}

Reg ResultPart::first_element(const ResultSource& source, Type type) {
  const Reg row = k_.convert(u64, k_.add(in_.block_row, row_)), ld = k_.convert(u64, source.ld);
  const Reg column = k_.add(in_.block_column, column_);
  return k_.mad_wide(column, type.bytes(), k_.fma(k_.mul(row, ld), type.bytes(), source.pointer));
}

Reg ResultPart::row_address(Reg base, const ResultSource& source, Type type, int row) {
  return row == 0 ? base : k_.add(base, k_.mul_wide(source.ld, row * type.bytes()));
}

void ResultPart::by_rows(const std::vector<Run>& runs,
                         const std::function<void(const Row&, const std::vector<Run>&)>& body) {
  for (auto first = runs.begin(); first != runs.end();) {
    const auto last = std::find_if(first, runs.end(), [&](const Run& run) { return run.row != first->row; });
    Row row{.number = first->row, .inside = k_.gt(rows_left_, first->row), .c = {}};
    if (p_.reads_c()) row.c = row_address(c_base_, in_.c, p_.c.type, first->row);
    body(row, {first, last});
    first = last;
  }
}

Run ResultPart::finish(const Row& row, const Run& run) {
  const std::vector<Reg> c = p_.reads_c() ? load_c(row, run) : std::vector<Reg>();
  Run finished{run.row, run.column, {}};
  for (std::size_t i = 0; i < run.values.size(); ++i) {
    Reg value = k_.mul(in_.alpha, KernelBuilder::as(p_.accumulator, run.values[i]));
    if (p_.reads_c()) {
      const Reg old = p_.c.type == p_.accumulator ? c[i] : k_.convert(p_.accumulator, c[i]);
      value = k_.fma(in_.beta, old, value);
    }
    finished.values.push_back(value);
  }
  return finished;
}

std::vector<Run> ResultPart::finish_pairs(const std::vector<Run>& runs) {
  std::vector<Run> pairs;
  by_rows(runs, [&](const Row& row, const std::vector<Run>& of_row) {
    for (const Run& run : of_row)
      for (const Reg& value : finish(row, run).values) {
        if (pairs.empty() || pairs.back().values.size() == 2) pairs.push_back({run.row, run.column, {}});
        pairs.back().values.push_back(value);
      }
  });
  return pairs;
}

Reg ResultPart::to_result(Reg value) {
  return p_.d.type == p_.accumulator ? value : k_.convert(p_.d.type, value);
}

Reg ResultPart::inside(const Row& row, int column) {
  return inside_row(k_, row.inside, columns_left_, column);
}

// Zeros outside of C.
std::vector<Reg> ResultPart::load_c(const Row& row, const Run& run) {
  const Type bits = memory_type(p_.c.type);
  std::vector<Reg> c;
  for (std::size_t i = 0; i < run.values.size(); ++i)
    c.push_back(KernelBuilder::as(p_.c.type, k_.mov(bits, Arg::zero(bits))));
  const Reg both = inside(row, run.column);
  k_.guarded(both, [&] { load_global(k_, p_.c.type, k_.at(row.c, run.column * p_.c.type.bytes()), c); });
  return c;
}

void ResultPart::store() {
  const Reg d_base = first_element(in_.d, p_.d.type);
  const int width = p_.reads_c() ? std::min(run_width(p_.d), run_width(p_.c)) : run_width(p_.d);
  by_rows(runs(width), [&](const Row& row, const std::vector<Run>& runs) {
    const Reg d_row = row_address(d_base, in_.d, p_.d.type, row.number);
    for (const Run& run : runs) {
      std::vector<Reg> values;
      for (const Reg& value : finish(row, run).values) values.push_back(to_result(value));
      const Reg both = inside(row, run.column);
      k_.guarded(both,
                 [&] { store_global(k_, p_.d.type, k_.at(d_row, run.column * p_.d.type.bytes()), values); });
    }
  });
}

}  // namespace ptxloom::gemm_kernel
