// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

// The bytes of a cache entry: magic, checksum of everything after it, sizes of key and value, key, value.
namespace ptxloom::jit {

struct CacheEntry {
  std::string_view key;
  std::string_view value;
};

std::string encode_entry(const CacheEntry& entry);
/// nullopt for damaged bytes, with the reason; else views into `bytes`.
std::optional<CacheEntry> decode_entry(std::string_view bytes, std::string& reason);
/// The file name for a key, and whether a name is such a file name.
std::string entry_name(std::string_view key);
bool is_entry_name(std::string_view name);

}  // namespace ptxloom::jit
