// SPDX-License-Identifier: Apache-2.0
#include "epilogue.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace ptxloom::gemm_kernel {
namespace {

class StagedEpilogue {
 public:
  StagedEpilogue(KernelBuilder& k, const Problem& p, const Config& c, const EpilogueInputs& in)
      : k_(k), p_(p), c_(c), in_(in), part_(k, p, c, in) {}

  void run() {
    const Tile tile(c_.tile_m, c_.tile_n * p_.d.type.bytes(), staged_swizzle());
    const std::vector<Run> pairs = finished_pairs();
    k_.section("stage D in shared memory");
    k_.barrier();  // all warps are done with the operands there
    if (k_.has(stmatrix_opcode(4)) && !in_.column_order.interleaved)
      store_matrices(tile, pairs);
    else
      store_pairs(tile, pairs);
    k_.barrier();
    copy_out(tile);
  }

 private:
  std::vector<SwizzleBit> staged_swizzle() const {
    if (c_.tile_n * p_.d.type.bytes() == 64) return {{1, 0}, {2, 1}};
    return {{0, 0}, {1, 1}, {2, 2}};
  }

  // Two 16-bit neighbours in a register.
  std::vector<Run> finished_pairs() {
    std::vector<Run> pairs = part_.finish_pairs(part_.pair_runs());
    for (Run& pair : pairs) {
      for (Reg& value : pair.values) value = part_.to_result(value);
      pair.values = {k_.pack(b32, pair.values)};
    }
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
    const Reg base =
        k_.add(in_.shared, tile.address(k_, part_.row(), k_.mul(part_.column(), p_.d.type.bytes())));
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
        Reg inside = inside_row(k_, k_.gt(rows, y), columns, x / size);
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
  ResultPart part_;
};

}  // namespace

void emit_epilogue(KernelBuilder& k, const Problem& problem, const Config& config, const EpilogueInputs& in) {
  config.staged ? StagedEpilogue(k, problem, config, in).run() : ResultPart(k, problem, config, in).store();
}

}  // namespace ptxloom::gemm_kernel
