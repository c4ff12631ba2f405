// SPDX-License-Identifier: Apache-2.0
// The weight layout: against the fragment map of wgmma, and element by element.
#include "ptxloom/kit/weight_layout.hpp"

#include <algorithm>
#include <set>

#include "kit/running.hpp"
#include "ptxloom/error.hpp"
#include "ptxloom/layout.hpp"
#include "ptxloom/numeric.hpp"

using namespace ptxloom;

namespace {

/// The fragment map of operand A of wgmma in registers.
Layout fragment_map() {
  for (const Variant& one : kit_test::specs()->match("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16"))
    if (one.operand("A").registers() == 4) return layout(one, "A");
  FAIL("no wgmma with A in registers");
  return {};
}

std::vector<std::byte> random_bytes(std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = std::byte(kit_test::random_word() & 0xff);
  return bytes;
}

/// The bf16 whose highest mantissa bit and lowest exponent bits are those of an e2m1.
unsigned as_bf16(unsigned code) { return (code & 8) << 12 | (code & 7) << 6; }

}  // namespace

TEST_CASE("weight layout: a thread's word has the registers of its fragment") {
  const Layout map = fragment_map();
  const kit::WeightLayout weights(s4, 200, 330);
  REQUIRE(weights.row_tiles() == 4);
  REQUIRE(weights.depth_tiles() == 6);
  REQUIRE(weights.bytes() == 4 * 6 * 2048);
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t row = kit_test::random_word() % 200, k = kit_test::random_word() % 330;
    const auto place = map.find(static_cast<int>(row % 64), static_cast<int>(k % 16));
    REQUIRE(place);
    const std::uint64_t bit = weights.bit(row, k, 0), in_tile = bit % (2048 * 8);
    INFO("row " << row << ", k " << k << ", seed " << Catch::getSeed());
    CHECK(bit / (2048 * 8) == row / 64 * 6 + k / 64);
    CHECK(in_tile / 128 == static_cast<std::uint64_t>(place->lane));
    CHECK(in_tile % 128 / 32 == k % 64 / 16);
    CHECK(in_tile % 32 == static_cast<std::uint64_t>(place->bit + 4 * place->reg));
  }
}

TEST_CASE("weight layout: each bit of each element has a place of its own") {
  for (const Type type : {s4, e2m1}) {
    const kit::WeightLayout weights(type, 70, 150);
    std::set<std::uint64_t> places;
    for (std::uint64_t row = 0; row < 70; ++row)
      for (std::uint64_t k = 0; k < 150; ++k)
        for (int bit = 0; bit < 4; ++bit) places.insert(weights.bit(row, k, bit));
    CHECK(places.size() == std::size_t{70 * 150 * 4});
    CHECK(*places.rbegin() < 8 * weights.bytes());
  }
}

TEST_CASE("weight layout: of 6 bits, pairs lie in the three words of a unit, as the table says") {
  // [pair][bit]: word * 16 + bit of the half.
  constexpr int kPlaces[8][6] = {{4, 5, 6, 7, 8, 15},      {9, 10, 11, 12, 13, 14},  {20, 21, 22, 23, 24, 31},
                                 {25, 26, 27, 28, 29, 30}, {36, 37, 38, 39, 40, 47}, {41, 42, 43, 44, 45, 46},
                                 {0, 1, 2, 3, 32, 33},     {16, 17, 18, 19, 34, 35}};
  for (const Type activations : {bf16, e4m3}) {
    const bool bytes = activations == e4m3;
    Layout map;
    for (const Variant& one :
         kit_test::specs()->match(bytes ? "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3"
                                        : "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16"))
      if (one.operand("A").registers() == 4) map = layout(one, "A");
    REQUIRE(map.registers == 4);
    const kit::WeightLayout weights(e3m2, 150, 330, activations);
    REQUIRE(weights.bytes() == 3 * 6 * 3072);
    std::vector<std::byte> plain = random_bytes(std::size_t{150} * 332 * 6 / 8), shuffled(weights.bytes());
    kit::shuffle_weights(weights, plain, 332, shuffled);
    std::set<std::uint64_t> places;
    for (std::uint64_t row = 0; row < 150; ++row)
      for (std::uint64_t k = 0; k < 330; ++k) {
        const int depth = bytes ? 32 : 16;
        const auto place =
            map.find(static_cast<int>(row % 64), static_cast<int>(k % static_cast<unsigned>(depth)));
        REQUIRE(place);
        const int pair =
            bytes ? 2 * place->reg + place->bit / 16 : static_cast<int>(k % 32 / 16) * 4 + place->reg;
        const std::uint64_t tile = row / 64 * 6 + k / 64;
        const std::uint64_t unit =
            tile * 3072 + static_cast<std::uint64_t>(place->lane) * 24 + k % 64 / 32 * 12;
        for (int bit = 0; bit < 6; ++bit) {
          const int at = kPlaces[pair][bit];
          const std::uint64_t wanted =
              8 * unit + static_cast<std::uint64_t>(at / 16 * 32 + at % 16) + k % 2 * 16;
          REQUIRE(weights.bit(row, k, bit) == wanted);
          REQUIRE(load_element(b1, shuffled, wanted) ==
                  load_element(b1, plain, 6 * (row * 332 + k) + static_cast<std::uint64_t>(bit)));
          places.insert(wanted);
        }
      }
    CHECK(places.size() == std::size_t{150 * 330 * 6});
  }
}

TEST_CASE("weight layout: beside e4m3 pairs of u4 lie in the halves of a word") {
  const kit::WeightLayout weights(u4, 64, 64, e4m3);
  for (std::uint64_t row = 0; row < 64; ++row)
    for (std::uint64_t k = 0; k < 64; ++k)
      CHECK(weights.bit(row, k, 0) % 32 == 16 * (k % 2) + 4 * (row % 16 / 8 * 2 + k % 4 / 2));
}

TEST_CASE("weight layout: a shift and a mask make bf16 of the registers of an e2m1 word") {
  const kit::WeightLayout weights(e2m1, 64, 64);
  std::vector<std::byte> plain = random_bytes(64 * 32), shuffled(weights.bytes());
  kit::shuffle_weights(weights, plain, 64, shuffled);
  const auto code = [&](std::size_t row, std::size_t k) {
    return std::to_integer<unsigned>(plain[(row * 64 + k) / 2]) >> (k % 2 * 4) & 0xf;
  };
  // Thread 37 has rows 17 and 25, and of the second 16 elements of k those from 18 and from 26 on.
  std::uint32_t word = 0;
  std::memcpy(&word, shuffled.data() + 37 * 16 + 4, 4);
  CHECK((word & 0x81c081c0) == (as_bf16(code(17, 19)) << 16 | as_bf16(code(17, 18))));
  CHECK((word << 3 & 0x81c081c0) == (as_bf16(code(25, 19)) << 16 | as_bf16(code(25, 18))));
  CHECK(((word << 6 & 0x01c001c0) | (word << 2 & 0x80008000)) ==
        (as_bf16(code(17, 27)) << 16 | as_bf16(code(17, 26))));
  CHECK(((word >> 3 & 0x01c001c0) | (word << 1 & 0x80008000)) ==
        (as_bf16(code(25, 27)) << 16 | as_bf16(code(25, 26))));
}

TEST_CASE("weight layout: values of groups lie in the order of a thread's rows") {
  const kit::WeightLayout weights(e2m1, 100, 200);
  REQUIRE(weights.groups(32) == 8);
  REQUIRE(weights.groups(128) == 2);
  REQUIRE(weights.groups(1024) == 1);
  std::vector<std::byte> plain = random_bytes(2 * 100 * 7), shuffled(2 * weights.group_values(32));
  kit::shuffle_groups(weights, bf16, 32, plain, shuffled);
  const auto value = [](const std::vector<std::byte>& bytes, std::size_t index) {
    return load_element(b16, bytes, index);
  };
  // Row 91 is row 27 of the second tile, in its second warp: row 8 + 3 of the warp.
  CHECK(value(shuffled, (8 + 5) * 64 + 16 + 3 * 2 + 1) == value(plain, 91 * 7 + 5));
  CHECK(value(shuffled, (8 + 5) * 64 + 16 + 3 * 2) == value(plain, 83 * 7 + 5));
  CHECK(value(shuffled, 7 * 64) == 0);
}

TEST_CASE("weight layout: rows with a pitch, and buffers that are too small") {
  const std::uint64_t n = 3, k = 5, pitch = 8;
  const std::vector<std::byte> plain = random_bytes(11);
  // guide shuffle {
  const kit::WeightLayout weights(s4, n, k);
  std::vector<std::byte> shuffled(weights.bytes());
  kit::shuffle_weights(weights, plain, pitch, shuffled);
  // }
  for (std::uint64_t row = 0; row < n; ++row)
    for (std::uint64_t column = 0; column < k; ++column)
      for (int bit = 0; bit < 4; ++bit)
        CHECK(load_element(b1, shuffled, weights.bit(row, column, bit)) ==
              load_element(b1, plain, 4 * (row * pitch + column) + static_cast<std::uint64_t>(bit)));
  CHECK_THROWS_AS(kit::shuffle_weights(weights, std::span(plain).first(10), 8, shuffled), Error);
  CHECK_THROWS_AS(kit::shuffle_weights(weights, plain, 8, std::span(shuffled).first(2047)), Error);
  CHECK_THROWS_AS(kit::shuffle_groups(weights, f32, 32, std::span(plain).first(11), shuffled), Error);
  CHECK_THROWS_AS(kit::WeightLayout(s8, 3, 5, e4m3), Error);
  CHECK_THROWS_AS(kit::WeightLayout(e4m3, 3, 5, s8), Error);
  CHECK_THROWS_AS(kit::WeightLayout(u8, 3, 5), Error);
  CHECK_THROWS_AS(kit::WeightLayout(s4, 0, 5), Error);
}

TEST_CASE("weight layout: pitches shorter than a row and rows that begin within a byte are refused") {
  const std::vector<std::byte> plain(64 * 64);
  const auto refused = [&](Type element, std::uint64_t pitch) {
    const kit::WeightLayout weights(element, 7, 60);
    std::vector<std::byte> shuffled(weights.bytes(), std::byte{0x5a});
    try {
      kit::shuffle_weights(weights, plain, pitch, shuffled);
    } catch (const Error& error) {
      CHECK(error.code() == "bad-stride");
      CHECK(shuffled.front() == std::byte{0x5a});
      return true;
    }
    return false;
  };
  for (const std::uint64_t pitch : {0, 58, 59, 61, 63}) CHECK(refused(s4, pitch));
  for (const std::uint64_t pitch : {60, 62}) CHECK_FALSE(refused(s4, pitch));
  for (const std::uint64_t pitch : {56, 61, 62, 63}) CHECK(refused(e2m3, pitch));
  for (const std::uint64_t pitch : {60, 64}) CHECK_FALSE(refused(e2m3, pitch));
  CHECK(refused(e4m3, 59));
  CHECK_FALSE(refused(e4m3, 61));
}

TEST_CASE("weight layout: of weights of 8 bits two words have the registers of a fragment") {
  const Layout map = fragment_map();
  const kit::WeightLayout weights(e4m3, 150, 300);
  REQUIRE(weights.depth_tiles() == 12);
  REQUIRE(weights.bytes() == 3 * 12 * 2048);
  std::vector<std::byte> plain = random_bytes(std::size_t{150} * 310), shuffled(weights.bytes());
  kit::shuffle_weights(weights, plain, 310, shuffled);
  for (std::uint64_t row = 0; row < 150; ++row)
    for (std::uint64_t k = 0; k < 300; ++k) {
      const auto place = map.find(static_cast<int>(row % 64), static_cast<int>(k % 16));
      REQUIRE(place);
      const auto lane = static_cast<std::uint64_t>(place->lane), reg = static_cast<std::uint64_t>(place->reg);
      const std::uint64_t tile = row / 64 * 12 + k / 32;
      const std::uint64_t byte = tile * 2048 + lane * 16 + k % 32 / 16 * 8 + reg * 2 + k % 2;
      REQUIRE(shuffled[byte] == plain[row * 310 + k]);
      REQUIRE(weights.bit(row, k, 5) == 8 * byte + 5);
    }
}

TEST_CASE("weight layout: beside 8 bits two words have the registers of a fragment") {
  Layout map;
  for (const Variant& one : kit_test::specs()->match("wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3"))
    if (one.operand("A").registers() == 4) map = layout(one, "A");
  REQUIRE(map.registers == 4);
  for (const Type type : {s4, e2m1}) {
    const kit::WeightLayout weights(type, 200, 330, e4m3);
    REQUIRE(weights.bytes() == 4 * 6 * 2048);
    std::set<std::uint64_t> places;
    for (std::uint64_t row = 0; row < 200; ++row)
      for (std::uint64_t k = 0; k < 330; ++k) {
        const auto place = map.find(static_cast<int>(row % 64), static_cast<int>(k % 32));
        REQUIRE(place);
        const std::uint64_t bit = weights.bit(row, k, 0), in_tile = bit % (2048 * 8);
        const auto reg = static_cast<std::uint64_t>(place->reg),
                   byte = static_cast<std::uint64_t>(place->bit) / 8;
        REQUIRE(bit / (2048 * 8) == row / 64 * 6 + k / 64);
        REQUIRE(in_tile / 128 == static_cast<std::uint64_t>(place->lane));
        REQUIRE(in_tile % 128 / 32 == k % 64 / 32 * 2 + reg / 2);
        REQUIRE(in_tile % 32 == reg % 2 * 16 + byte * 4);
        if (type == e2m1) REQUIRE(weights.bit(row, k, 3) % 32 == 8 * byte + (reg % 2 == 0 ? 7 : 3));
        for (int i = 0; i < 4; ++i) places.insert(weights.bit(row, k, i));
      }
    CHECK(places.size() == std::size_t{200 * 330 * 4});
  }
  CHECK_THROWS_AS(kit::WeightLayout(s4, 3, 5, f32), Error);
  CHECK_THROWS_AS(kit::WeightLayout(e2m1, 3, 5, s8), Error);
  CHECK_THROWS_AS(kit::WeightLayout(e2m3, 3, 5, s8), Error);
}

TEST_CASE("weight layout: beside s8 a mask makes 16 times the integers of a register") {
  const kit::WeightLayout weights(s4, 64, 64, s8), selectors(s4, 64, 64, e4m3);
  std::vector<std::byte> plain = random_bytes(64 * 32), shuffled(weights.bytes());
  kit::shuffle_weights(weights, plain, 64, shuffled);
  // Thread 37 has rows 17 and 25, and of the second 16 elements of k those from 20 on.
  std::uint32_t word = 0;
  std::memcpy(&word, shuffled.data() + 37 * 16 + 4, 4);
  for (std::uint64_t j = 0; j < 4; ++j) {
    const auto code = [&](std::uint64_t row) {
      return static_cast<std::uint32_t>(load_element(s4, plain, row * 64 + 20 + j)) & 0xf;
    };
    CHECK((word << 4 >> 8 * j & 0xf0) == code(17) << 4);
    CHECK((word >> 8 * j & 0xf0) == code(25) << 4);
  }
  CHECK(weights.bit(17, 20, 0) / 32 == selectors.bit(17, 20, 0) / 32);
}
