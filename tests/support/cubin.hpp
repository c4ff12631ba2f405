// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>

// Machine code as ptxas writes it: a 64-bit ELF file.

/// The sections of a cubin by name. For those without contents in the file (shared and local memory), the
/// size as text.
inline std::map<std::string, std::string> sections_of(const std::string& cubin) {
  const auto at = [&](std::uint64_t offset, auto value) {
    if (offset > cubin.size() || sizeof value > cubin.size() - offset)
      throw std::runtime_error("a cubin that ends early");
    std::memcpy(&value, cubin.data() + offset, sizeof value);
    return value;
  };
  const auto table = at(0x28, std::uint64_t{});
  const auto entry = at(0x3A, std::uint16_t{}), count = at(0x3C, std::uint16_t{}),
             names = at(0x3E, std::uint16_t{});
  const auto field = [&](std::uint64_t section, std::uint64_t offset) {
    return at(table + section * entry + offset, std::uint64_t{});
  };
  constexpr std::uint32_t kNoBits = 8;
  std::map<std::string, std::string> sections;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto name_offset = at(table + i * entry, std::uint32_t{}),
               type = at(table + i * entry + 4, std::uint32_t{});
    const std::string name = cubin.c_str() + field(names, 0x18) + name_offset;
    const bool empty = type == kNoBits || name.starts_with(".nv.shared") || name.starts_with(".nv.local");
    const std::uint64_t size = field(i, 0x20);
    sections[name] = empty ? std::to_string(size) + " bytes" : cubin.substr(field(i, 0x18), size);
  }
  return sections;
}
