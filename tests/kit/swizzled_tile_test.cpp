// SPDX-License-Identifier: Apache-2.0
// Tiles in shared memory: what a warp reads at once lies in different banks, and bytes that are written by
// computed addresses are found at constant distances.
#include "ptxloom/kit/swizzled_tile.hpp"

#include <numeric>
#include <set>

#include "kit/running.hpp"
#include "ptxloom/error.hpp"
#include "ptxloom/kit/fragments.hpp"
#include "ptxloom/kit/params.hpp"

using namespace ptxloom;
using kit::SwizzledTile;

namespace {

constexpr int kLine = 128;  // the width of all banks

// Addresses are linear in the distance from the start of the tile.
int address(const SwizzledTile& tile, int row, int byte) {
  const kit::Distance there = tile.distance(row, byte);
  return there.add + there.flip;
}

// Eight 16-byte chunks, one from each of these rows, cover all banks.
bool rows_meet_all_banks(const SwizzledTile& tile, std::initializer_list<int> rows, int byte) {
  std::set<int> chunks;
  for (const int row : rows) chunks.insert(address(tile, row, byte) % kLine / 16);
  return chunks.size() == rows.size();
}

}  // namespace

TEST_CASE("ldmatrix reads eight rows without a bank conflict") {
  for (const int depth : {16, 32, 64, 128}) {
    const SwizzledTile tile = kit::fragment_tile(f16, true, 64, depth);
    for (int byte = 0; byte < tile.row_bytes(); byte += 16) {
      INFO("row of " << tile.row_bytes() << " bytes, byte " << byte);
      CHECK(rows_meet_all_banks(tile, {0, 1, 2, 3, 4, 5, 6, 7}, byte));
      CHECK(rows_meet_all_banks(tile, {24, 25, 26, 27, 28, 29, 30, 31}, byte));
    }
  }
}

TEST_CASE("transposed 16-bit operands are read without a bank conflict") {
  for (const int extent : {32, 64, 128}) {
    const SwizzledTile tile = kit::fragment_tile(bf16, false, extent, 32);
    for (int byte = 0; byte < tile.row_bytes(); byte += 16)
      CHECK(rows_meet_all_banks(tile, {8, 9, 10, 11, 12, 13, 14, 15}, byte));
  }
}

TEST_CASE("transposed 8-bit operands are read without a bank conflict") {
  for (const int extent : {64, 128, 256}) {
    const SwizzledTile tile = kit::fragment_tile(s8, false, extent, 64);
    for (int byte = 0; byte < tile.row_bytes(); byte += 16)
      for (const int pair : {0, 2}) {
        INFO("row of " << tile.row_bytes() << " bytes, byte " << byte << ", pair " << pair);
        CHECK(rows_meet_all_banks(
            tile, {pair, pair + 1, pair + 4, pair + 5, pair + 8, pair + 9, pair + 12, pair + 13}, byte));
      }
  }
}

TEST_CASE("elements read one by one are in different banks") {
  // tf32: all 32 lanes at once, 4 bytes each; f64: 16 lanes at once, 8 bytes each.
  for (const int extent : {32, 64, 128}) {
    const SwizzledTile tile = kit::fragment_tile(tf32, false, extent, 16);
    std::set<int> banks;
    for (int lane = 0; lane < 32; ++lane) banks.insert(address(tile, lane % 4, lane / 4 * 4) % kLine);
    CHECK(banks.size() == 32);
  }
  for (const bool k_contiguous : {true, false}) {
    const SwizzledTile tile = kit::fragment_tile(f64, k_contiguous, 32, 16);
    std::set<int> banks;
    for (int lane = 0; lane < 16; ++lane) {
      const int extent = lane / 4, depth = lane % 4;
      banks.insert(address(tile, k_contiguous ? extent : depth, (k_contiguous ? depth : extent) * 8) % kLine);
    }
    CHECK(banks.size() == 16);
  }
}

TEST_CASE("no two elements of a tile share an address") {
  for (const Type type : {s8, f16, tf32, f64})
    for (const bool k_contiguous : {true, false}) {
      const SwizzledTile tile = kit::fragment_tile(type, k_contiguous, 64, 128 / type.bytes());
      std::set<int> seen;
      for (int row = 0; row < tile.rows(); ++row)
        for (int byte = 0; byte < tile.row_bytes(); byte += 4) seen.insert(address(tile, row, byte));
      CHECK(static_cast<int>(seen.size()) == tile.bytes() / 4);
      CHECK(*seen.rbegin() < tile.bytes());
    }
}

// A thread for each row writes its words by computed addresses. Threads read them by constant distances from
// the addresses of the first two rows, and copy the memory as it lies.
TEST_CASE("computed addresses and constant distances agree") {
  for (const int row_bytes : {16, 32, 64, 128, 256}) {
    const SwizzledTile tile(24, row_bytes, kit::matrix_swizzle(row_bytes));
    const int words = row_bytes / 4, all = tile.bytes() / 4;
    kit::Params params;
    params.pointer("in", u32).pointer("read", u32).pointer("raw", u32);
    KernelBuilder k = kit_test::builder("sm_75");
    k.require_block(24);
    const kit::ParamRegs in = params.declare(k);
    const Reg thread = k.special("tid.x");
    const Reg shared = k.address_of(k.shared(u32, static_cast<std::uint64_t>(all), "tile", 128));
    k.for_(0, words, 1, [&](Reg word) {
      const Reg column = KernelBuilder::as(u32, word);
      const Reg to = k.add(shared, tile.address(k, thread, k.mul(column, 4)));
      k.store("shared", u32, k.at(to), k.load(in.pointer("in")[k.fma(thread, words, column)]));
    });
    k.barrier();
    k.if_(k.lt(thread, 2), [&] {
      const Reg base = k.add(shared, tile.address(k, thread, k.mov(u32, 0)));
      for (int row = 0; row < 24; row += 2)
        for (int word = 0; word < words; ++word) {
          const Reg value = k.load("shared", u32, tile.at(k, base, row, 4 * word));
          k.store(in.pointer("read")[k.fma(thread, words, row * words + word)], value);
        }
    });
    k.for_(thread, all, 24, [&](Reg i) {
      const Reg from = k.fma(i, 4, shared);
      k.store(in.pointer("raw")[i], k.load("shared", u32, k.at(from)));
    });
    std::vector<std::uint32_t> given(static_cast<std::size_t>(all)), read(given.size()), raw(given.size());
    for (auto& value : given) value = kit_test::random_word();
    kit_test::run(
        k.finish(), {.block = {24, 1, 1}}, params.arguments(),
        {kit_test::tensor("in", given), kit_test::tensor("read", read), kit_test::tensor("raw", raw)});
    CAPTURE(row_bytes, Catch::getSeed());
    CHECK(read == given);
    for (int row = 0; row < 24; ++row)
      for (int word = 0; word < words; ++word)
        REQUIRE(raw[static_cast<std::size_t>(address(tile, row, 4 * word) / 4)] ==
                given[static_cast<std::size_t>(row * words + word)]);
  }
}

TEST_CASE("tiles that cannot be swizzled are refused") {
  CHECK_THROWS_AS(SwizzledTile(8, 96, {}), Error);
  CHECK_THROWS_AS(SwizzledTile(8, 8, {}), Error);
  CHECK_THROWS_AS(SwizzledTile(8, 32, kit::matrix_swizzle(128)), Error);
  CHECK_THROWS_AS(SwizzledTile(8, 256, {{0, 3}}), Error);
}
