// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "layout/manual.hpp"
#include "support/errors.hpp"
#include "support/specs.hpp"

// Host matrices into registers and back, against the manual's formulas, with fresh random bits.
namespace ptxloom {
namespace {

struct Case {
  const char* opcode;
  const char* operand;
  Selection selection;
};

const Case kCases[] = {
    {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "A", {}},
    {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "B", {}},
    {"mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", "D", {}},
    {"mma.sync.aligned.m16n8k64.row.col.s32.s4.u4.s32", "A", {}},
    {"mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc", "B", {}},
    {"mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64", "A", {}},
    {"mma.sync.aligned.m8n8k4.col.row.f32.f16.f16.f32", "A", {}},
    {"mma.sync.aligned.m8n8k4.col.row.f32.f16.f16.f32", "D", {}},
    {"mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e3m2.f32", "A", {}},
    {"mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e3m2.f32", "B", {}},
    {"mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", "E", {{"F", 1}}},
    {"mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
     "SB",
     {{"TB", 2}, {"BB", 2}}},
    {"wgmma.mma_async.sync.aligned.m64n24k16.f32.bf16.bf16", "D", {}},
    {"ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8", "D", {}},
};

template <class Item>
std::vector<Item> random_items(std::size_t count, std::mt19937_64& random) {
  std::vector<Item> items(count);
  for (Item& item : items) item = static_cast<Item>(random());
  return items;
}

/// Register is the size of the operand's registers, Item that of an element in the host's matrix.
template <class Register, class Item>
void check_pack(const Case& test, const Layout& map, std::size_t leading, std::mt19937_64& random) {
  const Variant v = variant(test.opcode);
  const auto manual = manual_fragment(v, test.operand, test.selection);
  REQUIRE(manual);
  const std::size_t rows = static_cast<std::size_t>(map.rows * map.matrices);
  const auto matrix = random_items<Item>(rows * leading, random);
  const Item mask = static_cast<Item>(map.bits == 8 * sizeof(Item) ? ~Item{0} : (Item{1} << map.bits) - 1);

  std::vector<Register> expected(static_cast<std::size_t>(map.lanes * map.registers));
  for (const LayoutElement& e : manual_elements(*manual, v.operand(test.operand))) {
    const auto at =
        static_cast<std::size_t>(e.matrix * map.rows + e.row) * leading + static_cast<std::size_t>(e.col);
    expected[static_cast<std::size_t>(e.lane * map.registers + e.reg)] |=
        static_cast<Register>(static_cast<Register>(matrix[at] & mask) << e.bit);
  }
  const std::vector<Register> packed = map.pack<Register>(matrix, leading);
  CHECK(packed == expected);

  auto back = random_items<Item>(matrix.size(), random);
  const auto before = back;
  map.unpack(packed, back, leading);
  for (std::size_t i = 0; i < back.size(); ++i) {
    const bool inside = i % leading < static_cast<std::size_t>(map.cols);
    const Item wanted = inside ? static_cast<Item>(matrix[i] & mask) : before[i];
    if (back[i] != wanted) FAIL("item " << i);
  }
}

void check_case(const Case& test, std::mt19937_64& random) {
  std::vector<LayoutSelector> selectors;
  for (const auto& [operand, value] : test.selection) selectors.push_back({operand, value});
  const Layout map = layout(variant(test.opcode), test.operand, selectors);
  for (const std::size_t extra : {0u, 3u}) {
    const std::size_t leading = static_cast<std::size_t>(map.cols) + extra;
    if (map.register_bits == 64) {
      check_pack<std::uint64_t, std::uint64_t>(test, map, leading, random);
    } else {
      check_pack<std::uint32_t, std::uint64_t>(test, map, leading, random);
      if (map.bits <= 16) check_pack<std::uint32_t, std::uint16_t>(test, map, leading, random);
      if (map.bits <= 8) check_pack<std::uint64_t, std::uint8_t>(test, map, leading, random);
    }
  }
}

TEST_CASE("pack is the manual's map and unpack is its inverse, in every shape") {
  std::mt19937_64 random(Catch::getSeed());
  for (const Case& test : kCases) {
    INFO(test.opcode << " " << test.operand << ", seed " << Catch::getSeed());
    check_case(test, random);
  }
}

TEST_CASE("leading 0 means contiguous") {
  const Layout b = layout(variant("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"), "B");
  std::vector<std::uint16_t> matrix(16 * 8);
  for (std::size_t i = 0; i < matrix.size(); ++i) matrix[i] = static_cast<std::uint16_t>(i);
  CHECK(b.pack(matrix) == b.pack(matrix, 8));
  CHECK(b.pack(matrix)[2 * 12 + 1] == ((9u * 8 + 3) << 16 | (8u * 8 + 3)));  // lane 12: k = 8, 9 of n = 3
}

TEST_CASE("what is too small for the operand is refused") {
  const Layout a = layout(variant("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"), "A");
  const auto refused = [](auto&& work) { return error_of(work).diagnostics().front().code == "bad-matrix"; };
  std::vector<std::uint16_t> matrix(256), small(255);
  std::vector<std::uint8_t> bytes(256);
  CHECK_NOTHROW(a.pack(matrix));
  CHECK(refused([&] { a.pack(small); }));
  CHECK(refused([&] { a.pack(matrix, 15); }));
  CHECK(refused([&] { a.pack(matrix, 17); }));
  CHECK(refused([&] { a.pack(bytes); }));
  CHECK(refused([&] { a.pack<std::uint16_t>(matrix); }));
  std::vector<std::uint32_t> registers(127);
  CHECK(refused([&] { a.unpack(registers, matrix); }));
}

}  // namespace
}  // namespace ptxloom
