// SPDX-License-Identifier: Apache-2.0
// Fragments of A and B that a warp loads from a tile hold what the fragment map of the instruction says.
#include "ptxloom/kit/fragments.hpp"

#include <fmt/format.h>

#include "kit/running.hpp"
#include "ptxloom/error.hpp"
#include "ptxloom/kit/params.hpp"
#include "support/narrow.hpp"

using namespace ptxloom;

namespace {

struct FragmentCase {
  std::string mma;
  Type type;
  int extent, depth;     // of the tile
  int warp, warp_part;   // first row of the warp, and its rows
  bool widened = false;  // the tile has a byte for each element, 16 of which lie in the first bytes of 16

  Type tile_type() const { return widened ? u8 : type; }
  int bits() const { return tile_type().bits; }
};

Variant variant(std::string_view opcode) {
  const std::vector<Variant> found = kit_test::specs()->match(opcode);
  REQUIRE(!found.empty());
  return found.front();
}

/// The tile is the second of two stages, filled by threads that write its rows.
ir::Module load_kernel(const FragmentCase& c, const kit::FragmentShape& shape, const kit::Params& params,
                       int steps) {
  KernelBuilder k = kit_test::builder(c.widened ? "sm_120a" : "sm_90a");
  k.require_block(32);
  const kit::ParamRegs in = params.declare(k);
  const Reg lane = k.special("tid.x");
  // guide fragments {
  const kit::SwizzledTile tile = kit::fragment_tile(c.tile_type(), shape.k_contiguous, c.extent, c.depth);
  const Reg shared = k.address_of(k.shared(b8, static_cast<std::uint64_t>(2 * tile.bytes()), "tiles", 128));
  kit::Fragments fragments(k, shape, tile, {.shared = shared, .warp_origin = in["origin"], .lane = lane});
  const kit::Fragments::Tiles registers = fragments.allocate();
  const Reg stage = k.mov(u32, tile.bytes());
  // }
  const int row_words = tile.row_bytes() / 4;
  k.for_(lane, tile.bytes() / 4, 32, [&](Reg word) {
    const Reg row = k.div(word, row_words), byte = k.mul(k.rem(word, row_words), 4);
    const Reg to = k.add(k.add(shared, stage), tile.address(k, row, byte));
    k.store("shared", u32, k.at(to), k.load(in.pointer("tile")[word]));
  });
  k.barrier();
  fragments.set_stage(stage);
  const Type stored = c.type == f64 ? f64 : b32;
  int number = 0;
  for (int step = 0; step < steps; ++step) {
    fragments.load(step, registers);
    for (const auto& tile_registers : registers)
      for (const Reg& value : tile_registers)
        k.store("global", stored,
                k.at(k.mad_wide(lane, stored.bytes(), in["out"]), 32 * stored.bytes() * number++), value);
  }
  return k.finish();
}

/// Row (column of B) and k of an element of mma tile `number` in step `step`.
std::pair<int, int> place_of(const LayoutElement& e, bool is_a, kit::FragmentOrder order, int number,
                             int mma_extent, int k_origin) {
  const int row = is_a ? e.row : e.col, depth = is_a ? e.col : e.row;
  return {order.origin(number * mma_extent + row / 8 * 8) + row % 8 * order.step(), k_origin + depth};
}

/// What a register has for the element at this position of the tile.
std::uint64_t wanted(const FragmentCase& c, const std::vector<std::byte>& tile, const LayoutElement& e,
                     int index) {
  const auto i = static_cast<std::size_t>(index);
  if (!c.widened) return test::narrow::load(c.type, tile, i);
  return test::narrow::load(c.type, std::span(tile).subspan(i / 16 * 16, 16), i % 16) << (e.bit % 8);
}

void check_fragments(const FragmentCase& c, std::string_view operand, bool k_contiguous) {
  INFO(fmt::format("{}, {} {}, tile {} x {}, rows {} to {}, seed {}", c.mma, operand,
                   k_contiguous ? "along k" : "across k", c.extent, c.depth, c.warp, c.warp + c.warp_part,
                   Catch::getSeed()));
  const bool is_a = operand == "A";
  const kit::FragmentShape shape{.mma = variant(c.mma),
                                 .operand = operand,
                                 .type = c.type,
                                 .k_contiguous = k_contiguous,
                                 .extent = c.warp_part};
  const Layout map = layout(shape.mma, operand);
  const int mma_extent = is_a ? map.rows : map.cols, mma_k = is_a ? map.cols : map.rows;
  const int tiles = c.warp_part / mma_extent, steps = c.depth / mma_k;
  const int register_bytes = map.register_bits / 8;
  std::vector<std::byte> tile =
      kit_test::random_bytes(static_cast<std::size_t>(c.extent * c.depth * c.bits() / 8));
  std::vector<std::byte> out(static_cast<std::size_t>(32 * register_bytes * map.registers * tiles * steps));
  kit::Params params;
  params.pointer("tile", u32).pointer("out", u32).size("origin", u32, static_cast<std::uint64_t>(c.warp));
  kit_test::run(load_kernel(c, shape, params, steps), {.block = {32, 1, 1}}, params.arguments(),
                {{"tile", tile}, {"out", out}});
  int compared = 0;
  for (int step = 0; step < steps; ++step)
    for (int number = 0; number < tiles; ++number)
      for (const LayoutElement& e : map.elements()) {
        const auto [row, depth] =
            place_of(e, is_a, kit::fragment_order(c.type, k_contiguous), number, mma_extent, step * mma_k);
        const int extent = c.warp + row;
        const int from = k_contiguous ? extent * c.depth + depth : depth * c.extent + extent;
        const int reg = (step * tiles + number) * map.registers + e.reg;
        const int at = ((reg * 32 + e.lane) * map.register_bits + e.bit) / c.bits();
        REQUIRE(test::narrow::load(c.tile_type(), out, static_cast<std::size_t>(at)) ==
                wanted(c, tile, e, from));
        ++compared;
      }
  CHECK(compared == c.warp_part * c.depth);
}

}  // namespace

TEST_CASE("fragments hold what the fragment map says") {
  const std::vector<FragmentCase> cases = {
      {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", f16, 64, 32, 32, 32},
      {"mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", bf16, 128, 16, 48, 16},
      {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", bf16, 32, 128, 0, 32},
      {"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", tf32, 32, 16, 16, 16},
      {"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", s8, 64, 64, 0, 48},
      {"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32", e4m3, 128, 128, 64, 32},
      {"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", f64, 32, 16, 16, 16},
      {"mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64", f64, 16, 16, 0, 16}};
  for (const FragmentCase& c : cases)
    for (const char* operand : {"A", "B"})
      for (const bool k_contiguous : {true, false}) check_fragments(c, operand, k_contiguous);
  const std::string scaled =
      "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.";
  for (const auto& [types, a, b] :
       {std::tuple{"e2m1.e3m2", e2m1, e3m2}, std::tuple{"e2m3.e2m1", e2m3, e2m1}}) {
    const std::string mma = scaled + types + ".f32.ue8m0";
    check_fragments({mma, a, 64, 64, 16, 32, true}, "A", true);
    check_fragments({mma, b, 32, 128, 8, 16, true}, "B", true);
  }
  const FragmentCase packed{"mma.sync.aligned.m16n8k64.row.col.s32.s4.u4.s32", s4, 64, 256, 16, 32};
  for (const char* operand : {"A", "B"}) check_fragments(packed, operand, true);
}

TEST_CASE("the order of rows on the host and in a kernel is the same") {
  const kit::FragmentOrder order = kit::fragment_order(s8, false);
  CHECK(order.interleaved);
  CHECK_FALSE(kit::fragment_order(s8, true).interleaved);
  CHECK_FALSE(kit::fragment_order(f16, false).interleaved);
  kit::Params params;
  params.pointer("out", u32);
  KernelBuilder k = kit_test::builder("sm_75");
  const kit::ParamRegs in = params.declare(k);
  const Reg thread = k.special("tid.x");
  k.store(in.pointer("out")[thread], order.origin(k, k.mul(thread, 8)));
  std::vector<std::uint32_t> out(12);
  kit_test::run(k.finish(), {.block = {12, 1, 1}}, params.arguments(), {kit_test::tensor("out", out)});
  for (int i = 0; i < 12; ++i)
    CHECK(out[static_cast<std::size_t>(i)] == static_cast<std::uint32_t>(order.origin(8 * i)));
}

TEST_CASE("fragments that cannot be loaded are refused") {
  KernelBuilder k = kit_test::builder();
  const Reg zero = k.mov(u32, 0);
  const auto load = [&](const char* mma, std::string_view operand, Type type, bool k_contiguous, int extent) {
    const kit::SwizzledTile tile = kit::fragment_tile(type, k_contiguous, 32, 32);
    kit::Fragments(k, {variant(mma), operand, type, k_contiguous, extent}, tile, {zero, zero, zero});
  };
  const char* const f16_mma = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";
  const char* const s8_mma = "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32";
  CHECK_NOTHROW(load(f16_mma, "B", f16, false, 8));
  CHECK_THROWS_AS(load(f16_mma, "A", f16, true, 24), Error);
  CHECK_THROWS_AS(load(f16_mma, "A", f16, true, 0), Error);
  CHECK_THROWS_AS(load(s8_mma, "B", s8, false, 8), Error);
  CHECK_THROWS_AS(load("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32", "B", s4, false, 32), Error);
  CHECK_THROWS_AS(kit::register_places(variant("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32"), "A"),
                  Error);
}
