// SPDX-License-Identifier: Apache-2.0
#include "jit/cache_entry.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/hash.hpp"

namespace ptxloom::jit {
namespace {

constexpr std::string_view kSuffix = ".entry";
constexpr std::size_t kNameDigits = 32;
constexpr std::string_view kMagic = "ptxloom1";

struct Sizes {
  std::uint64_t key = 0;
  std::uint64_t value = 0;
};

constexpr std::size_t kChecksumAt = kMagic.size();
constexpr std::size_t kSizesAt = kChecksumAt + sizeof(Hash128);
constexpr std::size_t kKeyAt = kSizesAt + sizeof(Sizes);

template <typename T>
T load(std::string_view bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

template <typename T>
void store(std::string& bytes, std::size_t at, const T& value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

}  // namespace

std::string encode_entry(const CacheEntry& entry) {
  std::string bytes(kKeyAt, '\0');
  bytes.replace(0, kMagic.size(), kMagic);
  store(bytes, kSizesAt, Sizes{.key = entry.key.size(), .value = entry.value.size()});
  bytes.append(entry.key).append(entry.value);
  store(bytes, kChecksumAt, hash128(std::string_view(bytes).substr(kSizesAt)));
  return bytes;
}

std::optional<CacheEntry> decode_entry(std::string_view bytes, std::string& reason) {
  const auto damaged = [&](const char* why) {
    reason = why;
    return std::nullopt;
  };
  if (bytes.size() < kKeyAt) return damaged("truncated");
  if (!bytes.starts_with(kMagic)) return damaged("not a cache entry of this version");
  const auto sizes = load<Sizes>(bytes, kSizesAt);
  const std::uint64_t rest = bytes.size() - kKeyAt;
  if (sizes.key > rest || sizes.value > rest - sizes.key) return damaged("truncated");
  if (sizes.key + sizes.value != rest) return damaged("longer than its header says");
  if (hash128(bytes.substr(kSizesAt)) != load<Hash128>(bytes, kChecksumAt))
    return damaged("checksum differs");
  return CacheEntry{.key = bytes.substr(kKeyAt, sizes.key), .value = bytes.substr(kKeyAt + sizes.key)};
}

std::string entry_name(std::string_view key) { return to_hex(hash128(key)).append(kSuffix); }

bool is_entry_name(std::string_view name) {
  return name.size() == kNameDigits + kSuffix.size() && name.ends_with(kSuffix) &&
         std::ranges::all_of(name.substr(0, kNameDigits),
                             [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace ptxloom::jit
