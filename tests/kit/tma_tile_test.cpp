// SPDX-License-Identifier: Apache-2.0
// Tiles that TMA loads: where each element lies in shared memory. TMA stores.
#include "ptxloom/kit/tma_tile.hpp"

#include <fmt/format.h>

#include "kit/running.hpp"
#include "ptxloom/error.hpp"
#include "ptxloom/kit/params.hpp"
#include "ptxloom/kit/pipeline.hpp"

using namespace ptxloom;

namespace {

// TMA's swizzle in terms of addresses (PTX ISA 5.5.7): chunk bits are flipped by bits of the 128-byte line.
int swizzled(int address, int row_bytes) {
  const int line = address >> 7;
  const int mask = row_bytes == 128 ? 7 : row_bytes == 64 ? 3 : row_bytes == 32 ? 1 : 0;
  return address ^ (line & mask) << 4;
}

struct TmaCase {
  Type type;
  bool k_contiguous;
  std::uint32_t extent, k, ld;  // of the matrix
  int tile, part, depth;
  std::uint32_t origin, from_k;
  std::uint32_t batches = 1, batch = 0;
  int sharing = 1;

  kit::MatrixOperand matrix() const {
    const std::uint64_t rows = k_contiguous ? extent : k;
    return {type, k_contiguous, rows, k_contiguous ? k : extent, ld, batches > 1 ? rows * ld + 64 : 0};
  }
};

/// Each thread block loads the tile, and writes its shared memory as it is.
ir::Module tma_kernel(const TmaCase& c, const kit::TmaTile& tile, const kit::Params& params) {
  KernelBuilder k = kit_test::builder();
  k.require_block(64);
  if (c.sharing > 1) k.require_cluster(static_cast<std::uint32_t>(c.sharing));
  const kit::ParamRegs in = params.declare(k);
  const Reg thread = k.special("tid.x");
  const Reg shared = k.address_of(k.shared(b8, static_cast<std::uint64_t>(tile.bytes()), "tile", 1024));
  const Reg barriers = k.address_of(k.mbarriers(2, "barriers"));
  // guide tma_tile {
  kit::Pipeline pipeline(k, 1, barriers, c.sharing);
  k.if_(k.eq(thread, 0), [&] { pipeline.initialise(1); });
  c.sharing > 1 ? k.cluster_barrier() : k.barrier();
  const kit::Pipeline::Cursor at = pipeline.consumer();
  k.if_(k.eq(thread, 0), [&] {
    kit::TmaTileLoads loads(k, c.sharing);
    const Reg full = pipeline.full(at);
    pipeline.expect(full, tile.bytes());
    loads.load(tile, in["matrix"], {.extent = in["origin"], .depth = in["from_k"], .batch = in["batch"]},
               shared, full, kit::evict_first_policy(k));
  });
  pipeline.await(pipeline.full(at), at);
  // }
  const Reg first = k.mul(k.special("ctaid.x"), tile.bytes() / 4);
  k.for_(thread, tile.bytes() / 4, 64, [&](Reg word) {
    k.store(in.pointer("out")[k.add(first, word)], k.load("shared", u32, k.at(k.fma(word, 4, shared))));
  });
  if (c.sharing > 1) k.cluster_barrier();
  return k.finish();
}

/// A byte of the tile in shared memory: 0 outside the matrix.
std::byte expected_byte(const TmaCase& c, const kit::TmaTile& tile, const std::vector<std::byte>& data,
                        int box, int row, int byte) {
  const int size = c.type.bytes(), column = box * tile.box().width + byte / size;
  const std::uint64_t y = static_cast<std::uint64_t>(row) + (c.k_contiguous ? c.origin : c.from_k);
  const std::uint64_t x = static_cast<std::uint64_t>(column) + (c.k_contiguous ? c.from_k : c.origin);
  const kit::MatrixOperand m = c.matrix();
  if (y >= m.rows || x >= m.cols) return std::byte{0};
  const std::uint64_t element = c.batch * m.stride + y * m.ld + x;
  return data[element * static_cast<std::uint64_t>(size) + static_cast<std::uint64_t>(byte % size)];
}

void check_load(const TmaCase& c, int row_bytes) {
  const kit::TmaTile tile(c.matrix(), c.tile, c.part, c.depth, c.sharing);
  INFO(fmt::format("{} {}, {} x {} by {}, tile {} x {} from {}, {}, {} blocks, seed {}", c.type.name,
                   c.k_contiguous ? "along k" : "across k", c.extent, c.k, c.ld, c.tile, c.depth, c.origin,
                   c.from_k, c.sharing, Catch::getSeed()));
  CHECK(tile.box().row_bytes == row_bytes);
  kit::Params params;
  params.map("matrix", "matrix", tile.map(c.batches)).pointer("out", u32).size("origin", u32, c.origin);
  params.size("from_k", u32, c.from_k).size("batch", u32, c.batch);
  const kit::MatrixOperand m = c.matrix();
  const auto bytes =
      kit::span(m.rows, m.ld, m.ld, m.stride, c.batches) * static_cast<std::uint64_t>(c.type.bytes());
  std::vector<std::byte> data = kit_test::random_bytes(bytes);
  const auto tile_bytes = static_cast<std::size_t>(tile.bytes());
  std::vector<std::byte> out(tile_bytes * static_cast<std::size_t>(c.sharing), std::byte{0xa5});
  kit_test::run(tma_kernel(c, tile, params),
                {.grid = {static_cast<std::uint32_t>(c.sharing), 1, 1}, .block = {64, 1, 1}},
                params.arguments(), {{"matrix", data}, {"out", out}});
  for (std::size_t block = 0; block < static_cast<std::size_t>(c.sharing); ++block)
    for (int box = 0; box < tile.boxes(); ++box)
      for (int row = 0; row < tile.box().rows; ++row)
        for (int byte = 0; byte < row_bytes; ++byte) {
          const int at = swizzled(box * tile.box().bytes() + row * row_bytes + byte, row_bytes);
          REQUIRE(out[block * tile_bytes + static_cast<std::size_t>(at)] ==
                  expected_byte(c, tile, data, box, row, byte));
        }
}

}  // namespace

TEST_CASE("TMA loads tiles in every swizzle") {
  check_load({bf16, true, 50, 200, 208, 64, 64, 64, 8, 136}, 128);
  check_load({f16, true, 40, 90, 96, 24, 24, 32, 16, 64}, 64);
  check_load({s8, true, 40, 70, 80, 16, 16, 32, 32, 48}, 32);
  check_load({bf16, true, 20, 24, 24, 8, 8, 8, 8, 16}, 16);
  check_load({tf32, true, 35, 61, 64, 16, 16, 64, 24, 8}, 128);
  check_load({bf16, false, 200, 50, 208, 192, 64, 32, 64, 24}, 128);
  check_load({f16, false, 88, 40, 88, 64, 32, 16, 16, 32}, 64);
  check_load({bf16, false, 50, 18, 56, 8, 8, 16, 40, 8}, 16);
}

TEST_CASE("TMA loads tiles of batches") {
  check_load({bf16, true, 30, 72, 72, 32, 32, 64, 0, 32, 3, 2}, 128);
  check_load({f16, false, 72, 30, 72, 64, 64, 16, 32, 0, 4, 1}, 128);
}

TEST_CASE("thread blocks of a cluster load a tile together") {
  check_load({bf16, true, 60, 200, 200, 32, 32, 128, 40, 24, 1, 0, 2}, 128);
  check_load({bf16, false, 136, 60, 136, 128, 128, 32, 72, 16, 1, 0, 2}, 128);
  check_load({s8, true, 100, 64, 64, 64, 64, 64, 0, 0, 1, 0, 4}, 64);
}

// Threads write boxes as tiles; TMA stores them, and clips what lies outside the matrix.
TEST_CASE("TMA stores boxes that threads have written") {
  for (const int width : {8, 16, 32, 64}) {
    CAPTURE(width, Catch::getSeed());
    const kit::TmaBox box{.width = width, .row_bytes = 2 * width, .rows = 24};
    const std::uint64_t rows = 40, cols = static_cast<std::uint64_t>(width) + 8, ld = cols + 16;
    kit::Params params;
    params.pointer("in", u32).map("out", "out", box.map(bf16, cols, rows, ld, 0, 1));
    KernelBuilder k = kit_test::builder();
    k.require_block(32);
    const kit::ParamRegs in = params.declare(k);
    const Reg lane = k.special("tid.x");
    const Reg shared = k.address_of(k.shared(b8, static_cast<std::uint64_t>(2 * box.bytes()), "boxes", 1024));
    const int words = box.bytes() / 4, row_words = box.row_bytes / 4;
    const kit::SwizzledTile tile = box.tile();
    for (int number = 0; number < 2; ++number)  // at (0, 0), and at (24, 8), half outside
      k.for_(lane, words, 32, [&](Reg word) {
        const Reg at = tile.address(k, k.div(word, row_words), k.mul(k.rem(word, row_words), 4));
        const Reg value = k.load(in.pointer("in")[k.add(word, number * words)]);
        k.store("shared", u32, k.at(k.add(shared, at), number * box.bytes()), value);
      });
    // guide tma_store {
    kit::fence_for_bulk(k);
    k.barrier();
    k.if_(k.eq(lane, 0), [&] {
      for (int number = 0; number < 2; ++number) {
        const std::vector<Reg> at = {k.mov(u32, 8 * number), k.mov(u32, 24 * number)};  // column, row
        kit::tma_store(k, in["out"], at, k.at(shared, number * box.bytes()));
        kit::bulk_commit(k);
      }
      kit::bulk_wait(k);
    });
    // }
    std::vector<std::byte> given = kit_test::random_bytes(static_cast<std::size_t>(2 * box.bytes()));
    std::vector<std::byte> out(rows * ld * 2, std::byte{0xa5}), expected = out;
    kit_test::run(k.finish(), {.block = {32, 1, 1}}, params.arguments(), {{"in", given}, {"out", out}});
    for (std::uint64_t number = 0; number < 2; ++number)
      for (std::uint64_t row = 0; row < 24; ++row)
        for (std::uint64_t byte = 0; byte < static_cast<std::uint64_t>(box.row_bytes); ++byte) {
          const std::uint64_t y = 24 * number + row, x = 8 * number * 2 + byte;
          if (y < rows && x < cols * 2)
            expected[y * ld * 2 + x] =
                given[(number * 24 + row) * static_cast<std::uint64_t>(box.row_bytes) + byte];
        }
    CHECK(out == expected);
  }
}

TEST_CASE("consecutive bytes are copied in bulk") {
  kit::Params params;
  params.pointer("in", b8).pointer("out", b8).size("bytes", u32, 1136);
  KernelBuilder k = kit_test::builder();
  k.require_block(32);
  const kit::ParamRegs in = params.declare(k);
  const Reg shared = k.address_of(k.shared(b8, 2048, "buffer", 128));
  kit::Pipeline pipeline(k, 1, k.address_of(k.mbarriers(2, "barriers")));
  const kit::Pipeline::Cursor at = pipeline.consumer();
  k.if_(k.eq(k.special("tid.x"), 0), [&] {
    pipeline.initialise(1);
    pipeline.expect(pipeline.full(at), 1136);
    kit::bulk_load(k, k.at(shared), k.at(in["in"], 16), in["bytes"], pipeline.full(at));
    pipeline.await(pipeline.full(at), at);
    kit::bulk_store(k, k.at(in["out"], 32), k.at(shared), in["bytes"]);
    kit::bulk_commit(k);
    kit::bulk_wait_read(k);
    kit::bulk_wait(k);
  });
  std::vector<std::byte> given = kit_test::random_bytes(1200), out(1200, std::byte{0xa5}), expected = out;
  std::copy_n(given.begin() + 16, 1136, expected.begin() + 32);
  kit_test::run(k.finish(), {.block = {32, 1, 1}}, params.arguments(), {{"in", given}, {"out", out}});
  CHECK(out == expected);
}

TEST_CASE("rows of boxes divide the row, and thread blocks share whole rows") {
  CHECK(kit::dividing_row(96) == 32);
  CHECK(kit::dividing_row(256) == 128);
  CHECK(kit::dividing_row(80) == 16);
  const kit::MatrixOperand matrix{bf16, true, 100, 100, 104, 0};
  CHECK_THROWS_AS(kit::TmaTile(matrix, 24, 24, 32, 16), Error);
  CHECK_THROWS_AS(kit::TmaTile(matrix, 24, 24, 32, 0), Error);
  const kit::TmaTile tile(matrix, 24, 24, 96, 4);
  CHECK(tile.boxes() == 3);
  CHECK(tile.loaded_rows() == 6);
  CHECK(tile.bytes() == 24 * 96 * 2);
}
