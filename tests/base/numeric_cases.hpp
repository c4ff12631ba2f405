// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

// Inputs for tests of numerics, and a comparison that checks millions of them and names the first that
// differs.
namespace ptxloom::test {

/// Every f16 or bf16 pattern, or the patterns of f32 and f64 where rounding is decided: each upper half with
/// lower halves at, beside and between the ties of all narrower formats, and as many random patterns.
inline std::vector<std::uint64_t> rounding_cases(int bits, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> cases;
  for (std::uint64_t high = 0; high < 0x1'0000; ++high) {
    if (bits == 16) {
      cases.push_back(high);
      continue;
    }
    const std::uint64_t tie = 1ull << (bits - 17);
    const std::uint64_t base = high << (bits - 16);
    for (const std::uint64_t low : {std::uint64_t{0}, std::uint64_t{1}, tie - 1, tie, tie + 1, 2 * tie - 1}) {
      cases.push_back(base | low);
    }
    cases.push_back(base | (random() & (2 * tie - 1)));
    cases.push_back(random() >> (64 - bits));
  }
  return cases;
}

/// Operands that meet: random mantissas, many exponents close together, and every special value.
class Operands {
 public:
  Operands(int exponent_bits, int mantissa_bits, std::uint64_t seed)
      : exponent_bits_(exponent_bits), mantissa_bits_(mantissa_bits), random_(seed) {}

  std::uint64_t next() {
    const std::uint64_t exponents = 1ull << exponent_bits_;
    std::uint64_t mantissa = random_() & ((1ull << mantissa_bits_) - 1);
    if (random_() % 4 == 0) mantissa &= random_() & random_() & random_();  // sparse: exact results and ties
    std::uint64_t exponent = exponents / 2 + random_() % 9 - 5;
    switch (random_() % 16) {
      case 0:
        exponent = random_() % exponents;
        break;
      case 1:
        exponent = random_() % 4;
        break;
      case 2:
        exponent = exponents - 1 - random_() % 3;
        break;
      case 3:
        exponent = exponents / 2 - 1 + random_() % 128 % exponents / 2;
        break;
      case 4:
        mantissa = random_() % 2 == 0 ? 0 : (1ull << mantissa_bits_) - 1;
        break;
      case 5:
        exponent = mantissa = 0;
        break;
      default:
        break;
    }
    const std::uint64_t sign = random_() % 2;
    return sign << (exponent_bits_ + mantissa_bits_) | (exponent % exponents) << mantissa_bits_ | mantissa;
  }

 private:
  int exponent_bits_;
  int mantissa_bits_;
  std::mt19937_64 random_;
};

inline std::string hex(std::uint64_t bits) {
  std::string digits;
  for (int i = 60; i >= 0; i -= 4) digits += "0123456789abcdef"[bits >> i & 15];
  return "0x" + digits.substr(std::min<std::size_t>(digits.find_first_not_of('0'), 15));
}

/// Fails, with the first input that differs, unless ours(input) == theirs(input) for all of them.
template <typename Ours, typename Theirs>
void require_same(const std::vector<std::uint64_t>& inputs, Ours&& ours, Theirs&& theirs) {
  REQUIRE_FALSE(inputs.empty());
  for (const std::uint64_t input : inputs) {
    const auto got = static_cast<std::uint64_t>(ours(input));
    const auto wanted = static_cast<std::uint64_t>(theirs(input));
    if (got != wanted) FAIL("input " << hex(input) << ": got " << hex(got) << ", wanted " << hex(wanted));
  }
  SUCCEED();
}

}  // namespace ptxloom::test
