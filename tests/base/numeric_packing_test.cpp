// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <random>
#include <string>
#include <vector>

#include "ptxloom/error.hpp"
#include "ptxloom/numeric.hpp"

namespace ptxloom::test {

TEST_CASE("elements are packed lowest bit first, without gaps") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  for (const Type type : {b1, e2m1, s4, e2m3, e3m2, e4m3, u8, f16, bf16, f32, s32, f64, u64}) {
    INFO(type.name);
    const std::size_t count = 1 + random() % 50;
    std::vector<std::byte> packed(packed_bytes(type, count), std::byte{0xa5});
    REQUIRE(packed.size() == (count * type.bits + 7) / 8);
    std::vector<bool> wanted(packed.size() * 8);  // the buffer as one long number in binary
    for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = (0xa5 >> i % 8 & 1) != 0;
    for (std::size_t round = 0; round < 2 * count; ++round) {
      const std::size_t index = random() % count;
      const std::uint64_t bits = random();
      store_element(type, packed, index, bits);
      REQUIRE(load_element(type, packed, index) == (bits & ~0ull >> (64 - type.bits)));
      for (std::size_t i = 0; i < type.bits; ++i) wanted[index * type.bits + i] = (bits >> i & 1) != 0;
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      REQUIRE(((std::to_integer<int>(packed[i / 8]) >> i % 8 & 1) != 0) == wanted[i]);
    }
  }
  const std::vector values{1.0, -2.0, 6.0};
  std::vector<std::byte> fp4(packed_bytes(e2m1, 3));
  encode(e2m1, values, fp4);
  CHECK(fp4 == std::vector{std::byte{0xc2}, std::byte{0x07}});
  std::vector<double> back(3);
  decode(e2m1, fp4, back);
  CHECK(back == values);
}

TEST_CASE("types without a value and elements outside their buffer are refused") {
  const auto code_of = [](auto&& action) -> std::string {
    try {
      action();
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::usage);
      return error.diagnostics().front().code;
    }
    return "nothing thrown";
  };
  std::vector<std::byte> three(3);
  std::vector<double> five(5);
  CHECK(code_of([] { decode(f16x2, 0); }) == "type-has-no-value");
  CHECK(code_of([] { convert(f32, b128, 0); }) == "type-has-no-value");
  CHECK(code_of([&] { load_element(e2m3, three, 4); }) == "buffer-too-small");
  CHECK(code_of([&] { load_element(u8, three, ~std::size_t{0}); }) == "buffer-too-small");
  CHECK(code_of([&] { store_element(f16, three, 1, 0); }) == "buffer-too-small");
  CHECK(code_of([&] { decode(e2m3, three, five); }) == "buffer-too-small");
  CHECK(code_of([&] { encode(e2m3, five, three); }) == "buffer-too-small");
  CHECK(load_element(e2m3, three, 3) == 0);
}

}  // namespace ptxloom::test
