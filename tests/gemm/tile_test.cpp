// SPDX-License-Identifier: Apache-2.0
// The swizzle of shared memory tiles: what a warp reads at once must be in different banks.
#include "gemm/memory/swizzled_tile.hpp"

#include <catch2/catch_test_macros.hpp>
#include <set>

using namespace ptxloom;
using namespace ptxloom::gemm_kernel;

namespace {

constexpr int kLine = 128;  // the width of all banks

// Addresses are linear in the distance from the start of the tile.
int address(const SwizzledTile& tile, int row, int byte) {
  const Distance there = tile.distance(row, byte);
  return there.add + there.flip;
}

// Eight 16-byte chunks, one from each of these rows, cover all banks.
bool rows_meet_all_banks(const SwizzledTile& tile, std::initializer_list<int> rows, int byte) {
  std::set<int> chunks;
  for (const int row : rows) chunks.insert(address(tile, row, byte) % kLine / 16);
  return chunks.size() == rows.size();
}

Matrix matrix(Type type, bool k_contiguous) { return {"a", type, k_contiguous, 64, 64, 64}; }

}  // namespace

TEST_CASE("ldmatrix reads eight rows without a bank conflict", "[gemm]") {
  for (const int tile_k : {16, 32, 64, 128}) {
    const SwizzledTile tile = operand_tile(matrix(f16, true), 64, tile_k);
    for (int byte = 0; byte < tile.row_bytes(); byte += 16) {
      INFO("row of " << tile.row_bytes() << " bytes, byte " << byte);
      CHECK(rows_meet_all_banks(tile, {0, 1, 2, 3, 4, 5, 6, 7}, byte));
      CHECK(rows_meet_all_banks(tile, {24, 25, 26, 27, 28, 29, 30, 31}, byte));
    }
  }
}

TEST_CASE("transposed 16-bit operands are read without a bank conflict", "[gemm]") {
  for (const int extent : {32, 64, 128}) {
    const SwizzledTile tile = operand_tile(matrix(bf16, false), extent, 32);
    for (int byte = 0; byte < tile.row_bytes(); byte += 16)
      CHECK(rows_meet_all_banks(tile, {8, 9, 10, 11, 12, 13, 14, 15}, byte));
  }
}

TEST_CASE("transposed 8-bit operands are read without a bank conflict", "[gemm]") {
  for (const int extent : {64, 128, 256}) {
    const SwizzledTile tile = operand_tile(matrix(s8, false), extent, 64);
    for (int byte = 0; byte < tile.row_bytes(); byte += 16)
      for (const int pair : {0, 2}) {
        INFO("row of " << tile.row_bytes() << " bytes, byte " << byte << ", pair " << pair);
        CHECK(rows_meet_all_banks(
            tile, {pair, pair + 1, pair + 4, pair + 5, pair + 8, pair + 9, pair + 12, pair + 13}, byte));
      }
  }
}

TEST_CASE("elements read one by one are in different banks", "[gemm]") {
  // tf32: all 32 lanes at once, 4 bytes each; f64: 16 lanes at once, 8 bytes each.
  for (const int extent : {32, 64, 128}) {
    const SwizzledTile tile = operand_tile(matrix(tf32, false), extent, 16);
    std::set<int> banks;
    for (int lane = 0; lane < 32; ++lane) banks.insert(address(tile, lane % 4, lane / 4 * 4) % kLine);
    CHECK(banks.size() == 32);
  }
  for (const bool k_contiguous : {true, false}) {
    const SwizzledTile tile = operand_tile(matrix(f64, k_contiguous), 32, 16);
    std::set<int> banks;
    for (int lane = 0; lane < 16; ++lane) {
      const int extent = lane / 4, depth = lane % 4;
      banks.insert(address(tile, k_contiguous ? extent : depth, (k_contiguous ? depth : extent) * 8) % kLine);
    }
    CHECK(banks.size() == 16);
  }
}

TEST_CASE("no two elements of a tile share an address", "[gemm]") {
  for (const Type type : {s8, f16, tf32, f64})
    for (const bool k_contiguous : {true, false}) {
      const SwizzledTile tile = operand_tile(matrix(type, k_contiguous), 64, 128 / type.bytes());
      std::set<int> seen;
      for (int row = 0; row < tile.rows(); ++row)
        for (int byte = 0; byte < tile.row_bytes(); byte += 4) seen.insert(address(tile, row, byte));
      CHECK(static_cast<int>(seen.size()) == tile.bytes() / 4);
      CHECK(*seen.rbegin() < tile.bytes());
    }
}
