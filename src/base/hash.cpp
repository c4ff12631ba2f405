// SPDX-License-Identifier: Apache-2.0
#include "base/hash.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace ptxloom {

Hash128 hash128(std::span<const std::byte> data) {
  const XXH128_hash_t hash = XXH3_128bits(data.data(), data.size());
  return {.high = hash.high64, .low = hash.low64};
}

Hash128 hash128(std::string_view text) { return hash128(std::as_bytes(std::span(text))); }

std::string to_hex(Hash128 hash) {
  std::string text(32, '0');
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::uint64_t half = i < 16 ? hash.high : hash.low;
    text[i] = "0123456789abcdef"[half >> (60 - 4 * (i % 16)) & 15];
  }
  return text;
}

}  // namespace ptxloom
