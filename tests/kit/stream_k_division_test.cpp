// SPDX-License-Identifier: Apache-2.0
// Every thread block writes down its portions: together they are all k-blocks of all tiles, evenly divided.
#include "ptxloom/kit/stream_k_division.hpp"

#include <algorithm>
#include <map>

#include "kit/running.hpp"
#include "ptxloom/kit/params.hpp"

using namespace ptxloom;

namespace {

constexpr std::uint32_t kMostPortions = 40;  // portions, or shared tiles, of a thread block
constexpr std::uint32_t kNoPortion = 0xffff'ffff;

struct Division {
  std::uint32_t tiles, k_blocks, blocks;
};

struct Portion {
  std::uint32_t tile = kNoPortion, begin = 0, end = 0, whole = 0;
};
struct Shared {
  std::uint32_t tile = kNoPortion, first = 0, parts = 0, of_portion = 0;
};
struct Divided {
  std::vector<std::vector<Portion>> portions;  // [thread block]
  std::vector<std::vector<Shared>> shared;
};

template <class Item>
std::vector<std::vector<Item>> by_block(const Division& c, const std::vector<Item>& items) {
  std::vector<std::vector<Item>> all(c.blocks);
  for (std::uint32_t block = 0; block < c.blocks; ++block)
    for (std::uint32_t i = 0; i < kMostPortions; ++i)
      if (const Item& item = items[block * kMostPortions + i]; item.tile != kNoPortion)
        all[block].push_back(item);
  return all;
}

Divided divided(const Division& c) {
  kit::Params params;
  params.size("tiles", u32, c.tiles).size("k_blocks", u32, c.k_blocks);
  params.pointer("portions", u32).pointer("shared", u32);
  KernelBuilder k = kit_test::builder("sm_80");
  k.require_block(64);
  const kit::ParamRegs in = params.declare(k);
  const Reg leads = k.eq(k.special("tid.x"), 0), block = k.special("ctaid.x");
  kit::StreamKDivision division(
      k, k.address_of(k.shared(u32, kit::StreamKDivision::kBytes / 4, "division", 16)));
  k.if_(leads, [&] { division.divide(in["tiles"], in["k_blocks"], block, k.special("nctaid.x")); });
  k.barrier();
  const auto note = [&](const char* list, Reg count, std::initializer_list<Reg> fields) {
    const Reg to = k.mad_wide(k.fma(block, kMostPortions, count), 16, in[list]);
    k.guarded(leads, [&] { k.emit("st.global.v4.u32", k.at(to), std::vector<Reg>(fields)); });
    k.emit("add.u32", count, count, 1);
  };
  const Reg portions = k.mov(u32, 0), shared = k.mov(u32, 0);
  division.for_each([&](const kit::StreamKPortion& p) {
    note("portions", portions, {p.tile, p.begin, p.end, k.select(p.whole, k.mov(u32, 1), k.mov(u32, 0))});
  });
  division.for_each_shared([&](const kit::SharedTile& tile) {
    note("shared", shared, {tile.tile, tile.first, tile.parts, division.shared(tile.tile).first});
  });
  std::vector<Portion> of_portions(std::size_t{kMostPortions} * c.blocks);
  std::vector<Shared> of_shared(of_portions.size());
  kit_test::run(k.finish(), {.grid = {c.blocks, 1, 1}, .block = {64, 1, 1}}, params.arguments(),
                {kit_test::tensor("portions", of_portions), kit_test::tensor("shared", of_shared)});
  return {by_block(c, of_portions), by_block(c, of_shared)};
}

std::uint32_t most_k_blocks(const Division& c) {
  if (c.blocks / c.tiles < 2) return (c.tiles * c.k_blocks + c.blocks - 1) / c.blocks;
  const std::uint32_t parts = c.blocks / c.tiles;
  return (c.k_blocks + parts - 1) / parts;
}

/// Which thread blocks compute which tile. Checks each portion.
std::map<std::uint32_t, std::vector<std::uint32_t>> check_portions(const Division& c, const Divided& all) {
  std::vector<std::vector<int>> times(c.tiles, std::vector<int>(c.k_blocks));
  std::map<std::uint32_t, std::vector<std::uint32_t>> blocks;
  std::uint32_t most = 0;
  for (std::uint32_t block = 0; block < c.blocks; ++block) {
    std::uint32_t own = 0;
    for (const Portion& portion : all.portions[block]) {
      REQUIRE(portion.tile < c.tiles);
      REQUIRE(portion.begin < portion.end);
      REQUIRE(portion.end <= c.k_blocks);
      CHECK((portion.whole == 1) == (portion.end - portion.begin == c.k_blocks));
      for (std::uint32_t i = portion.begin; i < portion.end; ++i) ++times[portion.tile][i];
      blocks[portion.tile].push_back(block);
      own += portion.end - portion.begin;
    }
    most = std::max(most, own);
  }
  for (const auto& of_tile : times)
    CHECK(std::all_of(of_tile.begin(), of_tile.end(), [](int n) { return n == 1; }));
  CHECK(most == most_k_blocks(c));
  return blocks;
}

void check_shared(const Division& c, const Divided& all,
                  const std::map<std::uint32_t, std::vector<std::uint32_t>>& blocks) {
  for (std::uint32_t block = 0; block < c.blocks; ++block) {
    std::size_t expected = 0;
    for (const Portion& portion : all.portions[block]) expected += portion.whole == 1 ? 0 : 1;
    REQUIRE(all.shared[block].size() == expected);
    for (const Shared& tile : all.shared[block]) {
      const std::vector<std::uint32_t>& of_tile = blocks.at(tile.tile);
      CHECK(tile.parts == of_tile.size());
      CHECK(tile.first == of_tile.front());
      CHECK(tile.of_portion == tile.first);
      CHECK(of_tile.back() == tile.first + tile.parts - 1);  // they follow each other
      CHECK(std::count(of_tile.begin(), of_tile.end(), block) == 1);
    }
  }
}

}  // namespace

TEST_CASE("the k-blocks of all tiles are divided evenly") {
  for (const Division& c : {Division{3, 4, 2}, Division{5, 7, 3}, Division{7, 9, 5}, Division{1, 13, 4},
                            Division{2, 31, 7}, Division{11, 6, 4}, Division{37, 5, 4}, Division{4, 8, 4},
                            Division{1, 1, 3}, Division{9, 1, 2}, Division{3, 100, 8}, Division{64, 3, 7}}) {
    CAPTURE(c.tiles, c.k_blocks, c.blocks);
    const Divided all = divided(c);
    check_shared(c, all, check_portions(c, all));
  }
}

TEST_CASE("the division of the picture") {
  const Divided all = divided({3, 4, 2});
  REQUIRE(all.portions[0].size() == 2);
  REQUIRE(all.portions[1].size() == 2);
  CHECK(all.portions[0][1].end == 2);
  CHECK(all.portions[1][0].begin == 2);
  REQUIRE(all.shared[0].size() == 1);
  CHECK(all.shared[0][0].tile == 1);
}

TEST_CASE("with two thread blocks for a tile, none has parts of two tiles") {
  for (const Division& c : {Division{2, 31, 7}, Division{3, 100, 8}, Division{1, 13, 4}})
    for (const auto& portions : divided(c).portions) CHECK(portions.size() <= 1);
}

TEST_CASE("only as many tiles are shared as one to two waves") {
  const Division c{37, 5, 4};
  const Divided all = divided(c);
  std::size_t whole = 0;
  for (const auto& portions : all.portions)
    for (const Portion& portion : portions) whole += portion.whole;
  CHECK(whole >= 37 - 2 * 4);
  for (const auto& shared : all.shared) CHECK(shared.size() <= 2);
}
