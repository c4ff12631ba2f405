// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

// XXH3-128: names and checks data; it does not protect against an attacker.
namespace ptxloom {

struct Hash128 {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend bool operator==(const Hash128&, const Hash128&) = default;
};

Hash128 hash128(std::span<const std::byte> data);
Hash128 hash128(std::string_view text);
/// 32 lower-case digits.
std::string to_hex(Hash128 hash);

}  // namespace ptxloom
