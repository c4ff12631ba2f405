// SPDX-License-Identifier: Apache-2.0
// Pairs that the lanes of two warps hold arrive at their places in a tile, by stmatrix and by st.shared.
#include "ptxloom/kit/matrix_store.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kit/running.hpp"
#include "ptxloom/error.hpp"
#include "ptxloom/kit/params.hpp"
#include "ptxloom/ptx.hpp"

using namespace ptxloom;

namespace {

struct StoreCase {
  const char* target;
  int rows, columns;  // of a warp's part; the second warp's is below the first's
  int tile_columns, first_column;
  bool interleaved_rows = false, interleaved_columns = false;
};

/// The places of lane 0's pairs, in the order of accumulators of m16n8: by columns first.
std::vector<kit::PackedPair> places(const StoreCase& c) {
  const kit::FragmentOrder of_rows{c.interleaved_rows};
  std::vector<kit::PackedPair> pairs;
  for (int column = 0; column < c.columns; column += 8)
    for (int row = 0; row < c.rows; row += 8) {
      // Interleaved, a lane has four adjacent columns of 16: two pairs.
      const int real = c.interleaved_columns ? (column & ~15) + column / 8 % 2 * 2 : column;
      pairs.push_back({of_rows.origin(row), real, {}});
    }
  return pairs;
}

/// Each element is its number in the tile.
ir::Module store_kernel(const StoreCase& c, const kit::Params& params) {
  KernelBuilder k = kit_test::builder(c.target);
  k.require_block(64);
  const kit::ParamRegs in = params.declare(k);
  const Reg thread = k.special("tid.x"), lane = k.and_(thread, 31);
  const kit::FragmentOrder of_rows{c.interleaved_rows}, of_columns{c.interleaved_columns};
  const Reg from_row = k.mul(k.shr(thread, 5), c.rows), from_column = k.mov(u32, c.first_column);
  const Reg row = k.fma(k.shr(lane, 2), of_rows.step(), from_row);
  const Reg column = k.fma(k.and_(lane, 3), 2 * of_columns.step(), from_column);
  std::vector<kit::PackedPair> pairs = places(c);
  for (kit::PackedPair& pair : pairs) {
    const Reg number = k.fma(k.add(row, pair.row), c.tile_columns, k.add(column, pair.column));
    pair.value = KernelBuilder::as(b32, k.fma(number, 0x10001, 0x10000));  // the next one in the high half
  }
  // guide matrix_store {
  const int row_bytes = 2 * c.tile_columns;
  const kit::SwizzledTile tile(2 * c.rows, row_bytes, kit::matrix_swizzle(row_bytes));
  const Reg shared = k.address_of(k.shared(b8, static_cast<std::uint64_t>(tile.bytes()), "tile", 128));
  kit::store_matrices(k, tile, pairs,
                      {.shared = shared,
                       .row = from_row,
                       .column = from_column,
                       .lane = lane,
                       .row_order = of_rows,
                       .column_order = of_columns});
  k.barrier();
  // }
  const int words = row_bytes / 4, word_of_part = c.columns / 2;
  k.for_(thread, 2 * c.rows * word_of_part, 64, [&](Reg number) {
    const Reg at_row = k.div(number, word_of_part);
    const Reg word = k.add(k.rem(number, word_of_part), c.first_column / 2);
    const Reg from = k.add(shared, tile.address(k, at_row, k.mul(word, 4)));
    k.store(in.pointer("out")[k.fma(at_row, words, word)], k.load("shared", u32, k.at(from)));
  });
  return k.finish();
}

void check_store(const StoreCase& c, bool by_stmatrix) {
  INFO(fmt::format("{}, parts of {} x {} from column {} of {}, rows {}, columns {}", c.target, c.rows,
                   c.columns, c.first_column, c.tile_columns, c.interleaved_rows, c.interleaved_columns));
  const int count = 2 * c.rows * c.tile_columns;
  std::vector<std::uint16_t> out(static_cast<std::size_t>(count), 0xdead);
  kit::Params params;
  params.pointer("out", u32);
  const ir::Module module = store_kernel(c, params);
  CHECK((print(module).find("stmatrix") != std::string::npos) == by_stmatrix);
  kit_test::run(module, {.block = {64, 1, 1}}, params.arguments(), {kit_test::tensor("out", out)});
  int compared = 0;
  for (int i = 0; i < count; ++i) {
    const int column = i % c.tile_columns - c.first_column;
    const bool stored = column >= 0 && column < c.columns;
    REQUIRE(out[static_cast<std::size_t>(i)] == (stored ? i : 0xdead));
    compared += stored ? 1 : 0;
  }
  CHECK(compared == 2 * c.rows * c.columns);
}

}  // namespace

TEST_CASE("pairs of accumulators arrive at their places in a tile") {
  const std::vector<StoreCase> shapes = {{"", 16, 8, 8, 0},    {"", 32, 8, 32, 24},  {"", 16, 16, 64, 48},
                                         {"", 32, 32, 64, 32}, {"", 64, 16, 16, 0},  {"", 8, 16, 32, 16},
                                         {"", 8, 8, 16, 8},    {"", 16, 128, 128, 0}};
  for (StoreCase c : shapes)
    for (const bool stmatrix : {true, false}) {
      c.target = stmatrix ? "sm_90a" : "sm_80";
      check_store(c, stmatrix);
    }
}

TEST_CASE("interleaved fragments arrive at their places in a tile") {
  check_store({"sm_90a", 32, 16, 32, 16, true, false}, true);
  check_store({"sm_80", 32, 16, 32, 16, true, false}, false);
  check_store({"sm_90a", 16, 32, 64, 32, false, true}, false);
  check_store({"sm_80", 32, 16, 32, 0, true, true}, false);
}

TEST_CASE("pairs that are no grid of matrices are refused") {
  const auto code = [](std::vector<std::pair<int, int>> at) -> std::string {
    KernelBuilder k = kit_test::builder();
    const Reg zero = k.mov(u32, 0);
    std::vector<kit::PackedPair> pairs;
    for (const auto& [row, column] : at) pairs.push_back({row, column, k.mov(b32, 0)});
    try {
      kit::store_matrices(k, {32, 128, kit::matrix_swizzle(128)}, pairs, {zero, zero, zero, zero});
    } catch (const Error& error) {
      return error.code();
    }
    return "";
  };
  CHECK(code({{0, 0}, {0, 8}, {8, 0}, {8, 8}}).empty());
  CHECK(code({}) == "bad-fragments");
  CHECK(code({{0, 0}, {0, 8}, {0, 16}}) == "bad-fragments");
  CHECK(code({{0, 0}, {0, 16}}) == "bad-fragments");
  CHECK(code({{0, 0}, {8, 0}, {16, 0}, {32, 0}}) == "bad-fragments");
}
