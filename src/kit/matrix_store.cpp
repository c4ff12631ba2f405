// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/kit/matrix_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <string>
#include <utility>

#include "ptxloom/error.hpp"

namespace ptxloom::kit {
namespace {

constexpr int kMatrixExtent = 8, kMostMatrices = 4, kElementBytes = 2;

std::string stmatrix_opcode(std::size_t matrices) {
  return fmt::format("stmatrix.sync.aligned.m8n8.x{}.shared.b16", matrices);
}

/// The matrices of one instruction, by rows.
struct MatrixGroup {
  int matrices = 1, across = 1;
  int rows_apart = 0;  // from one row of matrices to the next
};

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorKind::usage, "bad-fragments", "a store of matrices: " + what,
              "matrices of 8 x 8 elements are a grid, a power of two of them side by side");
}

// `pairs` are sorted by row, then by column.
MatrixGroup group_of(const std::vector<PackedPair>& pairs) {
  if (pairs.empty()) refuse("there are none");
  const auto first_row = std::ranges::count(pairs, pairs[0].row, &PackedPair::row);
  MatrixGroup group{.matrices = std::gcd(static_cast<int>(pairs.size()), kMostMatrices)};
  group.across = std::min(group.matrices, static_cast<int>(first_row));
  if (!std::has_single_bit(static_cast<unsigned>(first_row)))
    refuse(fmt::format("{} are side by side", first_row));
  if (group.across < group.matrices)
    group.rows_apart = pairs[static_cast<std::size_t>(first_row)].row - pairs[0].row;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const int place = static_cast<int>(i) % group.matrices;
    const PackedPair& first = pairs[i - static_cast<std::size_t>(place)];
    if (pairs[i].column != first.column + place % group.across * kMatrixExtent ||
        pairs[i].row != first.row + place / group.across * group.rows_apart)
      refuse(fmt::format("one at row {}, column {}", pairs[i].row, pairs[i].column));
  }
  return group;
}

// Of the row that this lane gives to stmatrix, for a group at the origin of the warp's part.
Reg lane_address(KernelBuilder& k, const SwizzledTile& tile, const MatrixGroup& group,
                 const MatrixStoreInputs& in) {
  const Reg row_in_matrix = k.mul(k.and_(in.lane, kMatrixExtent - 1), in.row_order.step());
  const Reg matrix = k.shr(in.lane, 3);
  const Reg row = k.add(in.row, row_in_matrix);
  Reg column = k.fma(matrix, kMatrixExtent, in.column);
  if (group.across < kMostMatrices)
    column = k.fma(k.and_(matrix, group.across - 1), kMatrixExtent, in.column);
  const Reg rest = k.shr(matrix, std::countr_zero(static_cast<unsigned>(group.across)));
  const Reg group_row = group.across == group.matrices ? row : k.fma(rest, group.rows_apart, row);
  return k.add(in.shared, tile.address(k, group_row, k.mul(column, kElementBytes)));
}

}  // namespace

bool has_stmatrix(KernelBuilder& k) { return k.has(stmatrix_opcode(kMostMatrices)); }

void stmatrix(KernelBuilder& k, Address row, const std::vector<Reg>& matrices) {
  k.emit(stmatrix_opcode(matrices.size()), row, matrices);
}

void store_matrices(KernelBuilder& k, const SwizzledTile& tile, std::vector<PackedPair> pairs,
                    const MatrixStoreInputs& in) {
  if (!has_stmatrix(k) || in.column_order.interleaved) {
    const Reg row = k.add(in.row, k.mul(k.shr(in.lane, 2), in.row_order.step()));
    const Reg column = k.add(in.column, k.mul(k.and_(in.lane, 3), 2 * in.column_order.step()));
    return store_pairs_shared(k, tile, pairs, in.shared, row, column);
  }
  std::ranges::sort(pairs, {}, [](const PackedPair& pair) { return std::pair(pair.row, pair.column); });
  const MatrixGroup group = group_of(pairs);
  const Reg base = lane_address(k, tile, group, in);
  for (std::size_t i = 0; i < pairs.size(); i += static_cast<std::size_t>(group.matrices)) {
    std::vector<Reg> matrices;
    for (int j = 0; j < group.matrices; ++j) matrices.push_back(pairs[i + static_cast<std::size_t>(j)].value);
    stmatrix(k, tile.at(k, base, pairs[i].row, pairs[i].column * kElementBytes), matrices);
  }
}

void store_pairs_shared(KernelBuilder& k, const SwizzledTile& tile, const std::vector<PackedPair>& pairs,
                        Reg shared, Reg row, Reg column) {
  const Reg base = k.add(shared, tile.address(k, row, k.mul(column, kElementBytes)));
  for (const PackedPair& pair : pairs)
    k.emit("st.shared.b32", tile.at(k, base, pair.row, pair.column * kElementBytes), pair.value);
}

}  // namespace ptxloom::kit
