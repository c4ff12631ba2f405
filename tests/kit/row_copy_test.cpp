// SPDX-License-Identifier: Apache-2.0
// Tiles in shared memory arrive in the rows of a matrix, whatever their alignment; what lies outside the
// matrix and between its rows stays as it was.
#include "ptxloom/kit/row_copy.hpp"

#include <fmt/format.h>

#include "kit/running.hpp"
#include "ptxloom/error.hpp"
#include "ptxloom/kit/matrix.hpp"
#include "ptxloom/kit/params.hpp"

using namespace ptxloom;

namespace {

struct CopyCase {
  Type type;
  int tile_rows, row_bytes, threads;
  int rows, columns, ld;  // of the matrix
  int row, column;        // of the first of two tiles; the second is right of it and 8 rows below

  int unit() const {
    return kit::alignment(type, static_cast<std::uint64_t>(ld), 0, static_cast<std::uint64_t>(columns), true);
  }
  int tile_columns() const { return row_bytes / type.bytes(); }
};

/// Brings both tiles, which lie row by row in `in`, to shared memory, and copies them from there.
ir::Module copy_kernel(const CopyCase& c, const kit::Params& params) {
  KernelBuilder k = kit_test::builder("sm_80");
  k.require_block(static_cast<std::uint32_t>(c.threads));
  const kit::ParamRegs in = params.declare(k);
  const kit::SwizzledTile tile(c.tile_rows, c.row_bytes, kit::matrix_swizzle(c.row_bytes));
  const Reg thread = k.special("tid.x");
  const Reg shared = k.address_of(k.shared(b8, static_cast<std::uint64_t>(2 * tile.bytes()), "tiles", 128));
  const int words = c.row_bytes / 4;
  k.for_(thread, 2 * c.tile_rows * words, c.threads, [&](Reg number) {
    const Reg row = k.rem(k.div(number, words), c.tile_rows), byte = k.mul(k.rem(number, words), 4);
    const Reg of_tile = k.mul(k.div(number, words * c.tile_rows), tile.bytes());
    const Reg to = k.add(k.add(shared, of_tile), tile.address(k, row, byte));
    k.store("shared", u32, k.at(to), k.load(in.pointer("in")[number]));
  });
  k.barrier();
  // guide row_copy {
  kit::RowCopy copy(k, {.type = c.type, .unit = c.unit(), .threads = c.threads}, tile,
                    {.shared = shared,
                     .row = in["row"],
                     .column = in["column"],
                     .thread = thread,
                     .rows = in["rows"],
                     .columns = in["columns"],
                     .pointer = in["out"],
                     .ld = in["ld"]});
  copy.copy(0, 0, 0);
  copy.copy(tile.bytes(), 8, c.tile_columns());  // the next tile: right of the first, and 8 rows below
  // }
  return k.finish();
}

void check_copy(const CopyCase& c) {
  INFO(fmt::format("{}: tiles of {} x {} bytes, {} threads, units of {} bytes; {} x {} of {}, from {}, {}",
                   c.type.name, c.tile_rows, c.row_bytes, c.threads, c.unit(), c.rows, c.columns, c.ld, c.row,
                   c.column));
  const auto size = static_cast<std::size_t>(c.type.bytes());
  const int tile_bytes = c.tile_rows * c.row_bytes;
  std::vector<std::byte> in = kit_test::random_bytes(static_cast<std::size_t>(2 * tile_bytes));
  std::vector<std::byte> out =
      kit_test::random_bytes((static_cast<std::size_t>(c.rows - 1) * static_cast<std::size_t>(c.ld) +
                              static_cast<std::size_t>(c.columns)) *
                             size);
  std::vector<std::byte> expected = out;
  std::size_t copied = 0;
  for (int number = 0; number < 2; ++number)
    for (int y = 0; y < c.tile_rows; ++y)
      for (int x = 0; x < c.tile_columns(); ++x) {
        const int row = c.row + 8 * number + y, column = c.column + c.tile_columns() * number + x;
        if (row >= c.rows || column >= c.columns) continue;
        const auto from = static_cast<std::size_t>(number * tile_bytes + y * c.row_bytes) +
                          static_cast<std::size_t>(x) * size;
        const auto to = (static_cast<std::size_t>(row) * static_cast<std::size_t>(c.ld) +
                         static_cast<std::size_t>(column)) *
                        size;
        std::copy_n(in.begin() + static_cast<std::ptrdiff_t>(from), size,
                    expected.begin() + static_cast<std::ptrdiff_t>(to));
        ++copied;
      }
  REQUIRE(copied > 0);
  kit::Params params;
  params.pointer("in", u32).pointer("out", c.type);
  const auto number = [&](const char* name, int value) { params.scalar(name, u32, value); };
  number("row", c.row);
  number("column", c.column);
  number("rows", c.rows);
  number("columns", c.columns);
  number("ld", c.ld);
  kit_test::run(copy_kernel(c, params), {.block = {static_cast<std::uint32_t>(c.threads), 1, 1}},
                params.arguments(), {kit_test::tensor("in", in), kit_test::tensor("out", out)});
  CHECK(out == expected);
}

std::string refusal(int rows, const kit::RowCopyShape& shape) {
  KernelBuilder k = kit_test::builder();
  const Reg zero = k.mov(u32, 0);
  try {
    kit::RowCopy(k, shape, {rows, 64, kit::matrix_swizzle(64)},
                 {zero, zero, zero, zero, zero, zero, k.mov(u64, 0), zero});
  } catch (const Error& error) {
    return error.code();
  }
  return "";
}

}  // namespace

TEST_CASE("tiles in shared memory are copied to the rows of a matrix") {
  // Units of 16, 8, 4, 2 and 1 bytes; tiles inside, across an edge, and with fewer rows than the threads
  // copy.
  check_copy({f16, 16, 64, 64, 40, 96, 96, 8, 16});
  check_copy({f16, 32, 128, 32, 37, 156, 164, 16, 8});
  check_copy({bf16, 64, 64, 128, 90, 70, 82, 24, 2});
  check_copy({bf16, 16, 32, 32, 21, 39, 41, 0, 3});
  check_copy({s8, 32, 64, 64, 50, 99, 101, 8, 5});
  check_copy({f32, 64, 128, 64, 71, 61, 63, 0, 7});
  check_copy({f64, 8, 64, 128, 19, 17, 17, 8, 2});
  check_copy({e4m3, 64, 16, 32, 61, 31, 37, 0, 1});
}

TEST_CASE("copies that would skip or repeat rows are refused") {
  CHECK(refusal(16, {.type = f16, .unit = 16, .threads = 32}).empty());
  CHECK(refusal(16, {.type = f16, .unit = 16, .threads = 96}) == "bad-row-copy");
  CHECK(refusal(16, {.type = f16, .unit = 32, .threads = 32}) == "bad-row-copy");
  CHECK(refusal(16, {.type = f16, .unit = 6, .threads = 32}) == "bad-row-copy");
  CHECK(refusal(16, {.type = f32, .unit = 2, .threads = 32}) == "bad-row-copy");
  CHECK(refusal(24, {.type = f16, .unit = 16, .threads = 64}) == "bad-row-copy");
  CHECK(refusal(20, {.type = f16, .unit = 16, .threads = 32}) == "bad-row-copy");
}
