// SPDX-License-Identifier: Apache-2.0
// Tiles of matrices of any size, pitch and alignment arrive in shared memory, with zeros outside the matrix.
#include "ptxloom/kit/tile_copy.hpp"

#include <fmt/format.h>

#include "kit/running.hpp"
#include "ptxloom/error.hpp"
#include "ptxloom/kit/params.hpp"

using namespace ptxloom;

namespace {

struct CopyCase {
  Type type;
  bool k_contiguous;
  std::uint32_t extent, k, ld;  // of the matrix
  std::uint32_t origin;         // of the tile along the extent
  int rows, row_bytes;          // of the tile
  int threads;
  const char* target;
  bool whole = false;  // the sizes of the matrix are multiples of the tile's
  bool gaps = false;   // a unit has twice its bytes in a row of the tile

  int size() const { return type.bytes(); }
  int depth() const { return k_contiguous ? row_bytes / (gaps ? 2 : 1) / size() : rows; }
  std::uint32_t tiles() const {
    return (k + static_cast<std::uint32_t>(depth()) - 1) / static_cast<std::uint32_t>(depth());
  }
  kit::MatrixOperand matrix() const {
    return {.type = type,
            .k_contiguous = k_contiguous,
            .rows = k_contiguous ? extent : k,
            .cols = k_contiguous ? k : extent,
            .ld = ld};
  }
};

/// Copies all tiles, alternating between two stages, and writes each as its rows are.
ir::Module copy_kernel(const CopyCase& c, const kit::Params& params, kit::CopyAccess access) {
  KernelBuilder k = kit_test::builder(c.target);
  k.require_block(static_cast<std::uint32_t>(c.threads));
  const kit::ParamRegs in = params.declare(k);
  const Reg thread = k.special("tid.x");
  const kit::SwizzledTile tile(c.rows, c.row_bytes, kit::matrix_swizzle(c.row_bytes));
  const Reg shared = k.address_of(k.shared(b8, static_cast<std::uint64_t>(2 * tile.bytes()), "stages", 128));
  const Reg stage = k.mov(u32, 0), number = k.mov(u32, 0);
  const int unit_words = access.bytes / 4;
  const auto write_out = [&] {
    k.for_(thread, tile.bytes() / 4, c.threads, [&](Reg word) {
      std::optional<Reg> copied;
      if (c.gaps) copied = k.lt(k.rem(word, 2 * unit_words), unit_words);
      const Reg row = k.div(word, c.row_bytes / 4), byte = k.mul(k.rem(word, c.row_bytes / 4), 4);
      const Reg from = k.add(k.add(shared, stage), tile.address(k, row, byte));
      const Reg to = k.fma(number, tile.bytes() / 4, word);
      const auto write = [&] { k.store(in.pointer("out")[to], k.load("shared", u32, k.at(from))); };
      copied ? k.guarded(*copied, write) : write();
    });
  };
  const kit::TileCopyShape shape{.type = c.type,
                                 .k_contiguous = c.k_contiguous,
                                 .access = access,
                                 .threads = c.threads,
                                 .slot = c.gaps ? 2 * access.bytes : 0,
                                 .whole_extent = c.whole,
                                 .whole_k = c.whole};
  const auto matrix = in["matrix"], ld = in["ld"], origin = in["origin"], extent = in["extent"],
             depth = in["k"];
  // guide tile_copy {
  kit::TileCopy copy(k, shape, tile, {matrix, ld, origin, extent, depth, shared, thread});
  k.while_([&] { return k.lt(number, in["tiles"]); },
           [&] {
             copy.issue(stage);
             copy.land();
             if (copy.asynchronous()) {
               k.cp_async_commit();
               k.cp_async_wait();
             }
             k.barrier();
             write_out();  // what the kernel does with the tile
             k.barrier();
             k.set(stage, k.sub(tile.bytes(), stage));  // the other of two stages
             k.set(number, k.add(number, 1));
           });
  // }
  return k.finish();
}

constexpr std::byte kUntouched{0xa5};

/// `unit`: bytes.
std::vector<std::byte> expected_tiles(const CopyCase& c, std::size_t unit,
                                      const std::vector<std::byte>& matrix) {
  const auto size = static_cast<std::size_t>(c.size()), row_bytes = static_cast<std::size_t>(c.row_bytes);
  std::vector<std::byte> all;
  for (std::uint32_t t = 0; t < c.tiles(); ++t)
    for (std::uint32_t row = 0; row < static_cast<std::uint32_t>(c.rows); ++row)
      for (std::uint32_t column = 0; column < row_bytes / size / (c.gaps ? 2 : 1); ++column) {
        const std::uint32_t along_k = t * static_cast<std::uint32_t>(c.depth());
        const std::uint32_t y = row + (c.k_contiguous ? c.origin : along_k);
        const std::uint32_t x = column + (c.k_contiguous ? along_k : c.origin);
        const bool inside = y < c.matrix().rows && x < c.matrix().cols;
        for (std::size_t i = 0; i < size; ++i)
          all.push_back(inside ? matrix[(std::size_t{y} * c.ld + x) * size + i] : std::byte{0});
        if (c.gaps && (column + 1) * size % unit == 0) all.insert(all.end(), unit, kUntouched);
      }
  return all;
}

void check_copy(const CopyCase& c, std::optional<kit::CopyAccess> given = {}) {
  const kit::CopyAccess access =
      given ? *given : kit::copy_access(*kit_test::specs(), Target(c.target), c.matrix());
  INFO(
      fmt::format("{} {} of {} x {} by {}, from {}, tile of {} rows of {} bytes, {} threads of {}, {} bytes "
                  "{}, seed {}",
                  c.type.name, c.k_contiguous ? "along k" : "across k", c.extent, c.k, c.ld, c.origin, c.rows,
                  c.row_bytes, c.threads, c.target, access.bytes, access.asynchronous ? "async" : "loaded",
                  Catch::getSeed()));
  kit::Params params;
  params.pointer("matrix", b8).pointer("out", u32).size("ld", u32, c.ld).size("origin", u32, c.origin);
  params.size("extent", u32, c.extent).size("k", u32, c.k).size("tiles", u32, c.tiles());
  const kit::MatrixOperand m = c.matrix();
  const std::uint64_t elements = kit::span(m.rows, m.cols, m.ld, 0, 1);  // the buffer ends with the last one
  std::vector<std::byte> matrix = kit_test::random_bytes(elements * static_cast<std::size_t>(c.size()));
  std::vector<std::byte> expected = expected_tiles(c, static_cast<std::size_t>(access.bytes), matrix),
                         out(expected.size(), kUntouched);
  kit_test::run(copy_kernel(c, params, access), {.block = {static_cast<std::uint32_t>(c.threads), 1, 1}},
                params.arguments(), {{"matrix", matrix}, {"out", out}});
  CHECK(out == expected);
}

}  // namespace

TEST_CASE("tiles of any alignment are copied") {
  for (const char* target : {"sm_90a", "sm_75"}) {
    // The widest accesses, k and extent both partial.
    check_copy({f16, true, 45, 88, 96, 32, 32, 64, 128, target});
    check_copy({f16, false, 72, 45, 80, 32, 32, 64, 64, target});
    check_copy({f64, true, 19, 22, 24, 0, 32, 128, 128, target});
    check_copy({f64, false, 18, 21, 20, 16, 16, 128, 32, target});
    // Narrower ones.
    check_copy({bf16, true, 33, 36, 36, 0, 64, 32, 128, target});
    check_copy({f32, false, 35, 13, 37, 32, 8, 128, 64, target});
    check_copy({f16, true, 21, 23, 25, 16, 16, 32, 32, target});
    check_copy({s8, true, 40, 77, 77, 32, 16, 64, 64, target});
    check_copy({e4m3, false, 67, 33, 71, 64, 32, 64, 128, target});
    check_copy({s8, false, 64, 40, 66, 0, 16, 64, 64, target});
  }
}

TEST_CASE("more threads than units, and tiles that end where the matrix ends") {
  check_copy({f16, true, 20, 40, 40, 0, 16, 32, 256, "sm_90a"});  // some threads have no unit
  check_copy({f16, true, 64, 96, 96, 32, 32, 64, 64, "sm_90a", true});
  check_copy({f16, false, 64, 96, 72, 32, 32, 64, 64, "sm_80", true});
  check_copy({f32, true, 32, 64, 64, 0, 32, 128, 128, "sm_75", true});
  check_copy({f16, true, 40, 40, 48, 8, 32, 64, 64, "sm_90a"}, kit::CopyAccess{8, true});
  check_copy({f16, true, 40, 40, 48, 8, 32, 64, 64, "sm_90a"}, kit::CopyAccess{4, false});
}

TEST_CASE("units in slots of twice their bytes") {
  check_copy({u8, true, 45, 77, 80, 32, 32, 128, 64, "sm_90a", false, true}, kit::CopyAccess{8, true});
  check_copy({u8, true, 20, 144, 160, 0, 16, 64, 128, "sm_75", false, true}, kit::CopyAccess{8, false});
  check_copy({f16, true, 64, 96, 96, 32, 32, 128, 32, "sm_80", true, true}, kit::CopyAccess{8, true});
}

TEST_CASE("the access that rows allow") {
  const auto access = [](const char* target, kit::MatrixOperand matrix) {
    const kit::CopyAccess found = kit::copy_access(*kit_test::specs(), Target(target), matrix);
    return std::pair(found.bytes, found.asynchronous);
  };
  CHECK(access("sm_80", {f16, true, 3, 8, 8, 0}) == std::pair(16, true));
  CHECK(access("sm_80", {f16, true, 3, 7, 10, 0}) == std::pair(4, true));
  CHECK(access("sm_80", {f16, true, 3, 7, 8, 12}) == std::pair(8, true));
  CHECK(access("sm_80", {f16, true, 3, 7, 9, 0}) == std::pair(2, false));
  CHECK(access("sm_75", {f16, true, 3, 8, 16, 0}) == std::pair(16, false));
  CHECK(access("sm_75", {f16, true, 3, 7, 16, 0}) == std::pair(2, false));  // whole units or none
}

TEST_CASE("copies that cannot be are refused") {
  KernelBuilder k = kit_test::builder();
  const kit::SwizzledTile tile(16, 64, kit::matrix_swizzle(64));
  const Reg zero = k.mov(u32, 0);
  const kit::TileCopyInputs in{k.mov(u64, 0), zero, zero, zero, zero, zero, zero};
  const auto made = [&](kit::CopyAccess access, int threads) {
    kit::TileCopy(k, {.type = f16, .access = access, .threads = threads}, tile, in);
  };
  CHECK_NOTHROW(made({16, true}, 64));
  CHECK_THROWS_AS(made({16, true}, 96), Error);
  CHECK_THROWS_AS(made({12, true}, 64), Error);
  CHECK_THROWS_AS(made({2, true}, 64), Error);
  CHECK_THROWS_AS(made({1, false}, 64), Error);
  CHECK_THROWS_AS(made({32, false}, 64), Error);
}
