// SPDX-License-Identifier: Apache-2.0
#include "epilogue.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace ptxloom::gemm_kernel {
namespace {

// An accumulator and where it lies for lane 0 in the warp's part of D.
struct Element {
  int row = 0, column = 0;
  Reg value;
};

// Neighbours in a row, stored as one vector.
struct Run {
  int row = 0, column = 0;
  std::vector<Reg> values;
};

// Element (row, column) of lane 0 moves by lane / 4 rows and lane % 4 pairs of columns from lane to lane.
std::vector<Element> elements_of(const Config& c, const EpilogueInputs& in) {
  const Layout map = layout(c.mma, "D");
  std::vector<Element> elements;
  for (std::size_t i = 0; i < in.accumulators.size(); ++i)
    for (std::size_t j = 0; j < in.accumulators[i].size(); ++j)
      for (std::size_t reg = 0; reg < in.accumulators[i][j].size(); ++reg) {
        const LayoutElement& place = map.at(0, static_cast<int>(reg));
        const int row = static_cast<int>(i) * c.mma_m + place.row;
        // The pair of columns of a lane lies as far apart as its lanes do.
        const int pair = place.col & 1, column = static_cast<int>(j) * c.mma_n + place.col - pair;
        elements.push_back({in.row_order.origin(row),
                            in.column_order.origin(column) + pair * in.column_order.step(),
                            in.accumulators[i][j][reg]});
      }
  std::sort(elements.begin(), elements.end(), [](const Element& x, const Element& y) {
    return x.row != y.row ? x.row < y.row : x.column < y.column;
  });
  return elements;
}

std::vector<Run> runs_of(const std::vector<Element>& elements, int width) {
  std::vector<Run> runs;
  for (const Element& e : elements) {
    const bool continues = !runs.empty() && runs.back().row == e.row && e.column % width != 0 &&
                           runs.back().column + static_cast<int>(runs.back().values.size()) == e.column;
    if (!continues) runs.push_back({e.row, e.column, {}});
    runs.back().values.push_back(e.value);
  }
  return runs;
}

class Epilogue {
 public:
  Epilogue(KernelBuilder& k, const Problem& p, const Config& c, const EpilogueInputs& in)
      : k_(k), p_(p), c_(c), in_(in), elements_(elements_of(c, in)) {
    // Within the block's tile.
    row_ = k.add(in.warp_row, k.mul(k.shr(in.lane, 2), in.row_order.step()));
    column_ = k.add(in.warp_column, k.mul(k.and_(in.lane, 3), 2 * in.column_order.step()));
    const Reg rows = k.sub(in.m, k.add(in.block_row, row_)),
              columns = k.sub(in.n, k.add(in.block_column, column_));
    rows_left_ = KernelBuilder::as(s32, rows);
    columns_left_ = KernelBuilder::as(s32, columns);
    if (p.reads_c()) c_base_ = first_element(in.c, p.c.type);
  }

  void direct() {
    d_base_ = first_element(in_.d, p_.d.type);
    const int width = p_.reads_c() ? std::min(run_width(p_.d), run_width(p_.c)) : run_width(p_.d);
    by_rows(width, [&](const std::vector<Run>& runs, Reg row_inside) {
      for (const Run& run : finish(runs, row_inside)) {
        const Reg inside = both(row_inside, columns_left_, run.column);
        k_.guarded(inside,
                   [&] { store(p_.d.type, k_.at(d_row_, run.column * p_.d.type.bytes()), run.values); });
      }
    });
  }

  void staged() {
    const Tile tile(c_.tile_m, c_.tile_n * p_.d.type.bytes(), staged_swizzle());
    // Stage in pairs; the C that belongs to them is read pairwise where rows allow.
    by_rows(p_.reads_c() ? std::min(2, run_width(p_.c)) : 2,
            [&](const std::vector<Run>& runs, Reg row_inside) {
              for (const Run& run : finish(runs, row_inside))
                for (std::size_t i = 0; i < run.values.size(); ++i)
                  finished_.push_back({run.row, run.column + static_cast<int>(i), run.values[i]});
            });
    k_.section("stage D in shared memory");
    k_.barrier();  // all warps are done with the operands there
    const std::vector<Run> pairs = packed_pairs();
    if (k_.has(stmatrix_opcode(4)) && !in_.column_order.interleaved)
      store_matrices(tile, pairs);
    else
      store_pairs(tile, pairs);
    k_.barrier();
    copy_out(tile);
  }

 private:
  // ---- values
  // ---------------------------------------------------------------------------------------------------

  int run_width(const Result& result) const {
    const int bytes = alignment(result.type, result.ld, p_.n, true);
    const int most = in_.column_order.interleaved ? 4 : 2;
    return std::clamp(bytes / result.type.bytes(), 1, std::min(most, 16 / result.type.bytes()));
  }

  // The address of this lane's first element.
  Reg first_element(const ResultSource& source, Type type) {
    const Reg row = k_.convert(u64, k_.add(in_.block_row, row_)), ld = k_.convert(u64, source.ld);
    const Reg column = k_.add(in_.block_column, column_);
    return k_.mad_wide(column, type.bytes(), k_.fma(k_.mul(row, ld), type.bytes(), source.pointer));
  }

  Reg row_address(Reg base, const ResultSource& source, Type type, int row) {
    return row == 0 ? base : k_.add(base, k_.mul_wide(source.ld, row * type.bytes()));
  }

  // Calls `body` with the runs of each row and the predicate that the row lies inside D.
  template <class Body>
  void by_rows(int width, const Body& body) {
    const std::vector<Run> runs = runs_of(elements_, width);
    for (auto first = runs.begin(); first != runs.end();) {
      const auto last =
          std::find_if(first, runs.end(), [&](const Run& run) { return run.row != first->row; });
      if (p_.reads_c()) c_row_ = row_address(c_base_, in_.c, p_.c.type, first->row);
      if (d_base_.type.bits != 0) d_row_ = row_address(d_base_, in_.d, p_.d.type, first->row);
      body({first, last}, k_.gt(rows_left_, first->row));
      first = last;
    }
  }

  // alpha * accumulator + beta * C for the runs of one row, converted to D's type.
  std::vector<Run> finish(const std::vector<Run>& runs, Reg row_inside) {
    std::vector<Run> finished;
    for (const Run& run : runs) {
      const std::vector<Reg> c = p_.reads_c() ? load_c(run, row_inside) : std::vector<Reg>();
      Run result{run.row, run.column, {}};
      for (std::size_t i = 0; i < run.values.size(); ++i) {
        Reg value = k_.mul(in_.alpha, KernelBuilder::as(p_.accumulator, run.values[i]));
        if (p_.reads_c()) value = k_.fma(in_.beta, to_accumulator(c[i]), value);
        result.values.push_back(p_.d.type == p_.accumulator ? value : k_.convert(p_.d.type, value));
      }
      finished.push_back(std::move(result));
    }
    return finished;
  }

  // Zeros outside of C.
  std::vector<Reg> load_c(const Run& run, Reg row_inside) {
    const Type bits = bits_of(p_.c.type);
    std::vector<Reg> c;
    for (std::size_t i = 0; i < run.values.size(); ++i)
      c.push_back(KernelBuilder::as(p_.c.type, k_.mov(bits, Arg::zero(bits))));
    const Reg inside = both(row_inside, columns_left_, run.column);
    k_.guarded(inside, [&] { load(p_.c.type, k_.at(c_row_, run.column * p_.c.type.bytes()), c); });
    return c;
  }

  // row_inside and left > column, in one instruction.
  Reg both(Reg row_inside, Reg left, int column) {
    const Reg inside = k_.reg(pred);
    k_.emit("setp.gt.and.s32", inside, left, column, row_inside);
    return inside;
  }

  Reg to_accumulator(Reg value) {
    return value.type == p_.accumulator ? value : k_.convert(p_.accumulator, value);
  }

  static Type bits_of(Type type) {
    if (type == f32 || type == f64) return type;
    return type.bits == 16 ? b16 : b32;
  }

  static std::string vector_word(std::string_view opcode, Type type, std::size_t count) {
    return std::string(opcode) + (count > 1 ? "v" + std::to_string(count) + "." : "") +
           std::string(bits_of(type).name);
  }

  void load(Type type, Address from, const std::vector<Reg>& values) {
    const std::string opcode = vector_word("ld.global.", type, values.size());
    values.size() == 1 ? k_.emit(opcode, values[0], from) : k_.emit(opcode, values, from);
  }

  void store(Type type, Address to, const std::vector<Reg>& values) {
    const std::string opcode = vector_word("st.global.", type, values.size());
    values.size() == 1 ? k_.emit(opcode, to, values[0]) : k_.emit(opcode, to, values);
  }

  // ---- staged
  // -----------------------------------------------------------------------------------------------------

  std::vector<SwizzleBit> staged_swizzle() const {
    if (c_.tile_n * p_.d.type.bytes() == 64) return {{1, 0}, {2, 1}};
    return {{0, 0}, {1, 1}, {2, 2}};
  }

  // Two 16-bit neighbours to a register; each run becomes one b32.
  std::vector<Run> packed_pairs() {
    std::vector<Run> pairs = runs_of(finished_, 2);
    for (Run& pair : pairs) pair.values = {k_.pack(b32, pair.values)};
    return pairs;
  }

  static std::string stmatrix_opcode(int matrices) {
    return "stmatrix.sync.aligned.m8n8.x" + std::to_string(matrices) + ".shared.b16";
  }

  // Two matrices of 8 x 8 lie side by side along n in one stmatrix.x2, and two such rows of them in an x4.
  void store_matrices(const Tile& tile, std::vector<Run> pairs) {
    constexpr int kMatrices = 4;
    std::sort(pairs.begin(), pairs.end(), [](const Run& x, const Run& y) {
      return x.row != y.row ? x.row < y.row : x.column < y.column;
    });
    const Reg row_in_matrix = k_.mul(k_.and_(in_.lane, 7), in_.row_order.step());
    const int across =
        std::min(kMatrices, c_.warp_n() / 8);  // the rest of the group is the next row of matrices
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
      const Distance there = tile.distance(pairs[i].row, pairs[i].column * p_.d.type.bytes());
      const Reg at = there.flip == 0 ? base : k_.xor_(base, there.flip);
      k_.emit(stmatrix_opcode(kMatrices), k_.at(at, there.add), group);
    }
  }

  void store_pairs(const Tile& tile, const std::vector<Run>& pairs) {
    const Reg base = k_.add(in_.shared, tile.address(k_, row_, k_.mul(column_, p_.d.type.bytes())));
    for (const Run& pair : pairs) {
      const Distance there = tile.distance(pair.row, pair.column * p_.d.type.bytes());
      const Reg at = there.flip == 0 ? base : k_.xor_(base, there.flip);
      k_.emit("st.shared.b32", k_.at(at, there.add), pair.values[0]);
    }
  }

  // Whole rows, in units as wide as D's rows are aligned.
  void copy_out(const Tile& tile) {
    k_.section("store D in whole rows");
    const int size = p_.d.type.bytes(), unit = alignment(p_.d.type, p_.d.ld, p_.n, true);
    const int across = std::min(tile.row_bytes() / unit, c_.threads()), rows_at_once = c_.threads() / across;
    const Reg row = k_.div(in_.thread, across), byte = k_.mul(k_.rem(in_.thread, across), unit);
    const Reg column = k_.div(byte, size);
    const Reg from = k_.add(in_.shared, tile.address(k_, row, byte));
    const Reg global_row = k_.convert(u64, k_.add(in_.block_row, row)), ld = k_.convert(u64, in_.d.ld);
    Reg to = k_.mad_wide(k_.add(in_.block_column, column), size,
                         k_.fma(k_.mul(global_row, ld), size, in_.d.pointer));
    const Reg rows = KernelBuilder::as(s32, k_.sub(in_.m, k_.add(in_.block_row, row)));
    const Reg columns = KernelBuilder::as(s32, k_.sub(in_.n, k_.add(in_.block_column, column)));
    const Reg stride = k_.mul_wide(in_.d.ld, rows_at_once * size);
    for (int y = 0; y < tile.rows(); y += rows_at_once) {
      if (y > 0) to = k_.add(to, stride);
      for (int x = 0; x < tile.row_bytes(); x += across * unit) {
        const Distance there = tile.distance(y, x);
        const Reg at = there.flip == 0 ? from : k_.xor_(from, there.flip);
        Reg inside = both(k_.gt(rows, y), columns, x / size);
        if (rows_at_once > tile.rows()) inside = k_.and_(inside, k_.lt(row, tile.rows()));
        k_.guarded(inside, [&] { move(k_.at(at, there.add), k_.at(to, x), unit); });
      }
    }
  }

  void move(Address from, Address to, int bytes) {
    const Type type = bytes >= 8 ? b64 : bytes == 4 ? b32 : b16;
    const std::string word = (bytes == 16 ? "v2." : "") + std::string(type.name);
    const std::vector<Reg> values = k_.regs(type, bytes == 16 ? 2 : 1);
    if (bytes == 16) {
      k_.emit("ld.shared." + word, values, from);
      k_.emit("st.global." + word, to, values);
    } else {
      k_.emit("ld.shared." + word, values[0], from);
      k_.emit("st.global." + word, to, values[0]);
    }
  }

  KernelBuilder& k_;
  const Problem& p_;
  const Config& c_;
  const EpilogueInputs& in_;
  std::vector<Element> elements_, finished_;
  Reg row_, column_, rows_left_, columns_left_;
  Reg c_base_, d_base_, c_row_, d_row_;
};

}  // namespace

void emit_epilogue(KernelBuilder& k, const Problem& problem, const Config& config, const EpilogueInputs& in) {
  Epilogue epilogue(k, problem, config, in);
  config.staged ? epilogue.staged() : epilogue.direct();
}

}  // namespace ptxloom::gemm_kernel
