// SPDX-License-Identifier: Apache-2.0
// Fallbacks of ldmatrix and stmatrix against the instructions themselves, both in the executor, which also
// refuses a result that depends on padding: nobody has written it.
#include <algorithm>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <memory>
#include <numeric>
#include <random>

#include "ptxloom/exec.hpp"
#include "ptxloom/layout.hpp"
#include "ptxloom/lower.hpp"
#include "ptxloom/ptx.hpp"

namespace ptxloom::test::lower_matrix_test {
namespace {

using Catch::Matchers::ContainsSubstring;
using U32 = std::uint32_t;
constexpr U32 kLanes = 32, kBlocks = 16;
constexpr U32 kRows = 64, kRowBytes = 16, kRowWords = kRowBytes / 4, kTileWords = kRows * kRowWords;

std::shared_ptr<const Specs> specs() {
  static const auto all = std::make_shared<const Specs>();
  return all;
}

/// Words at the start of a row that hold elements.
U32 used_words(const Variant& variant) {
  const auto from = variant.slot("from").value_or("");
  return from == "b6x16_p32" ? 3 : from == "b4x16_p64" ? 2 : 4;
}

/// What all kernels have: a tile of shared memory that is filled from `tiles`, and an offset in it for each
/// lane.
struct Setting {
  KernelBuilder k;
  Pointer out, tiles, offsets;
  Shared tile;
  Reg lane, block;
};

Setting begin(const std::string& target, U32 words) {
  KernelBuilder k(specs(), "k", Target(target));
  const Pointer out = k.pointer(u32, "out"), tiles = k.pointer(u32, "tiles"),
                offsets = k.pointer(u32, "offsets");
  const Shared tile = k.shared(b8, std::size_t{kRows} * kRowBytes, "tile", kRowBytes);
  const Reg lane = k.special("laneid"), block = k.special("ctaid.x");
  const Reg from = k.fma(block, kTileWords, k.mul(lane, kRowWords));
  for (U32 row = 0; row < kRows; row += kLanes)
    for (U32 word = 0; word < words; ++word) {
      const U32 at = row * kRowWords + word;
      k.store(tile.as(u32)[k.fma(lane, kRowWords, at)], k.load(tiles[k.add(from, at)]));
    }
  k.warp_barrier();
  return {std::move(k), out, tiles, offsets, tile, lane, block};
}

ir::Module load_kernel(const Variant& variant, const std::string& target) {
  Setting s = begin(target, used_words(variant));
  const Reg offset = s.k.load(s.offsets[s.k.fma(s.block, kLanes, s.lane)]);
  const std::vector<Reg> words = lower::ops(s.k, variant.opcode(), &s.tile[offset]);
  const auto count = static_cast<U32>(words.size());
  const Reg to = s.k.mul(s.k.global_thread_x(), count);
  for (U32 i = 0; i < count; ++i) s.k.store(s.out[s.k.add(to, i)], s.k.as(u32, words[i]));
  return s.k.finish();
}

/// What it stores are the first words of its tile in global memory.
ir::Module store_kernel(const Variant& variant, const std::string& target) {
  Setting s = begin(target, kRowWords);
  std::vector<Reg> words;
  const auto count = static_cast<U32>(variant.operand("D").registers());
  const Reg first = s.k.fma(s.block, kTileWords, s.k.mul(s.lane, count));
  for (U32 i = 0; i < count; ++i) words.push_back(s.k.as(b32, s.k.load(s.tiles[s.k.add(first, i)])));
  const Reg offset = s.k.load(s.offsets[s.k.fma(s.block, kLanes, s.lane)]);
  lower::emit(s.k, variant.opcode(), &s.tile[offset], words);
  s.k.warp_barrier();
  for (U32 i = 0; i < kTileWords; i += kLanes) {
    const Reg at = s.k.add(s.lane, i);
    s.k.store(s.out[s.k.fma(s.block, kTileWords, at)], s.k.load(s.tile.as(u32)[at]));
  }
  return s.k.finish();
}

struct Inputs {
  std::vector<U32> tiles, offsets;
};

/// Rows in random places. Lanes whose address is not used have one outside of the tile.
Inputs inputs_for(const Variant& variant, std::mt19937& random) {
  Inputs in;
  for (U32 i = 0; i < kBlocks * kTileWords; ++i) in.tiles.push_back(static_cast<U32>(random()));
  const Layout layout = ptxloom::layout(variant, "D");
  for (U32 block = 0; block < kBlocks; ++block) {
    std::vector<U32> rows(kRows), offsets(kLanes, 0x00f0'0001);
    std::iota(rows.begin(), rows.end(), 0);
    std::ranges::shuffle(rows, random);
    for (const LayoutAddress& address : layout.addresses()) {
      const auto lane = static_cast<std::size_t>(address.lane);
      offsets.at(lane) = rows.at(lane) * kRowBytes;
    }
    in.offsets.insert(in.offsets.end(), offsets.begin(), offsets.end());
  }
  return in;
}

std::vector<U32> run(const ir::Module& module, Inputs in, std::size_t results) {
  exec::Program program(module, "k");
  exec::Memory memory;
  std::vector<U32> out(results, 0xa5a5'a5a5);
  const std::array<std::uint64_t, 3> parameters{
      memory.map(out.data(), out.size() * 4, "out"),
      memory.map(in.tiles.data(), in.tiles.size() * 4, "tiles"),
      memory.map(in.offsets.data(), in.offsets.size() * 4, "offsets")};
  program.run(
      memory,
      {.grid = {kBlocks, 1, 1}, .block = {kLanes, 1, 1}, .parameters = std::as_bytes(std::span(parameters))});
  return out;
}

/// Compares each variant of the form that the target gets by a fallback; counts them.
int compare_form(const char* form, const std::string& target) {
  std::mt19937 random(Catch::getSeed());
  const bool loads = std::string_view(form) == "ldmatrix";
  const auto kernel = loads ? load_kernel : store_kernel;
  int compared = 0;
  for (const Variant& variant : specs()->variants(form)) {
    if (lower::support(*specs(), variant, Target(target)) != lower::Support::emulated) continue;
    INFO(variant.opcode() << " on " << target);
    const Inputs in = inputs_for(variant, random);
    const ir::Module emulated = kernel(variant, target), native = kernel(variant, "sm_100a");
    CHECK_THAT(print(emulated), ContainsSubstring("// emulated " + std::string(variant.opcode())));
    CHECK_THAT(print(native), !ContainsSubstring("// emulated"));
    const auto registers = static_cast<std::size_t>(variant.operand("D").registers());
    const std::size_t results = loads ? kBlocks * kLanes * registers : std::size_t{kBlocks} * kTileWords;
    const std::vector<U32> found = run(emulated, in, results), expected = run(native, in, results);
    for (std::size_t i = 0; i < results; ++i) {
      if (found[i] == expected[i]) continue;
      CAPTURE(i, found[i], expected[i]);
      FAIL("the fallback differs");
    }
    ++compared;
  }
  return compared;
}

}  // namespace

TEST_CASE("fallbacks of ldmatrix give the bits of the instructions") {
  // .m8n16: two formats, x1 to x4; .m16n16: three formats, x1 and x2; .shared and .shared::cta.
  CHECK(compare_form("ldmatrix", "sm_75") == 24);
  CHECK(compare_form("ldmatrix", "sm_90a") == 24);
  CHECK(compare_form("ldmatrix", "sm_120a") == 0);
}

TEST_CASE("fallbacks of stmatrix store the bits of the instructions") {
  // .m8n8 with and without .trans, and .m16n8; x1 to x4; .shared and .shared::cta.
  CHECK(compare_form("stmatrix", "sm_75") == 18);
  CHECK(compare_form("stmatrix", "sm_90") == 6);
  CHECK(compare_form("stmatrix", "sm_120a") == 0);
}

TEST_CASE("the address of a fallback is in 64 bits, or of an array, with an offset") {
  const char* const opcode = "ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b6x16_p32";
  const auto loaded = [&](int way) {
    Setting s = begin("sm_80", kRowWords);
    const Reg row = s.k.shl(s.k.and_(s.lane, 7), 4), at = s.k.add(s.k.address_of(s.tile), row);
    const Reg wide = s.k.convert(u64, at);
    const Reg word = way == 0   ? lower::op(s.k, opcode, &s.tile[s.k.add(row, 32)])
                     : way == 1 ? lower::op(s.k, opcode, s.k.at(wide, 32))
                                : lower::op(s.k, opcode, s.k.at(at) + 32);
    s.k.store(s.out[s.k.global_thread_x()], s.k.as(u32, word));
    return s.k.finish();
  };
  std::mt19937 random(Catch::getSeed());
  const Inputs in = inputs_for(specs()->match(opcode).at(0), random);
  const std::size_t results = kBlocks * kLanes;
  const std::vector<U32> expected = run(loaded(0), in, results);
  CHECK(run(loaded(1), in, results) == expected);
  CHECK(run(loaded(2), in, results) == expected);
}

TEST_CASE("a fallback with an address refuses what does not fit") {
  KernelBuilder k(specs(), "k", Target("sm_75"));
  const char* const load = "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8";
  const char* const store = "stmatrix.sync.aligned.m8n8.x1.shared.b16";
  const Pointer global = k.pointer(b8, "in");
  const Global table = k.global<U32>("table", {1, 2, 3, 4});
  const Reg at = k.reg(u32), x = k.reg(b32), half = k.reg(b16);
  const std::vector<Reg> one{x}, two{x, x};
  CHECK_THROWS_WITH(lower::ops(k, load, at), ContainsSubstring("operand P is not an address"));
  CHECK_THROWS_WITH(lower::ops(k, load, &global[0]), ContainsSubstring("[address-space]"));
  CHECK_THROWS_WITH(lower::ops(k, load, &table[0]), ContainsSubstring("[address-space]"));
  CHECK_THROWS_WITH(lower::emit(k, load, one, k.at(at)), ContainsSubstring("operand D is not a vector of 2"));
  CHECK_THROWS_WITH(lower::ops(k, store, k.at(at), one), ContainsSubstring("[no-result]"));
  CHECK_THROWS_WITH(lower::emit(k, store, k.at(half), one), ContainsSubstring("[operand-type]"));
  CHECK_THROWS_WITH(lower::emit(k, store, k.at(at), two),
                    ContainsSubstring("operand D is not a vector of 1"));
}

}  // namespace ptxloom::test::lower_matrix_test
