// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// The one reader of ELF files: 64 bits, little-endian. It copies nothing, and every access is within the
// bytes, so any bytes may be given: a file that is damaged has a damage() and no sections.
namespace ptxloom {

struct ElfSection {
  std::string_view name;
  std::uint32_t type = 0;
  std::uint64_t flags = 0;
  std::uint64_t size = 0;  ///< also of a section without contents in the file
  std::uint32_t link = 0;  ///< what these mean depends on the type
  std::uint32_t info = 0;
  std::span<const std::byte> data;  ///< empty if the file has no contents for it
};

struct ElfSymbol {
  std::string_view name;
  std::uint8_t type = 0;      ///< STT_FUNC, STT_OBJECT ...
  std::uint8_t other = 0;     ///< visibility, and what a machine adds to it
  std::uint32_t section = 0;  ///< index; may be one of the reserved numbers, which no section has
  std::uint64_t value = 0;
  std::uint64_t size = 0;
};

struct ElfRelocation {
  std::uint64_t offset = 0;  ///< in the section that is relocated
  std::uint32_t symbol = 0;  ///< index
  std::int64_t addend = 0;
};

class ElfView {
 public:
  /// The bytes must outlive the view and what it returns.
  explicit ElfView(std::span<const std::byte> bytes);

  /// What is wrong, as a clause: "it is truncated"; nullopt if nothing.
  const std::optional<std::string>& damage() const { return damage_; }
  std::uint16_t machine() const { return machine_; }  ///< EM_CUDA ...
  std::uint16_t type() const { return type_; }        ///< ET_EXEC, ET_REL ...
  std::uint32_t flags() const { return flags_; }
  std::uint8_t abi_version() const { return abi_version_; }

  std::span<const ElfSection> sections() const { return sections_; }
  /// The first section of this name; null if there is none.
  const ElfSection* find(std::string_view name) const;
  /// Those of the first symbol table. A name that lies outside of its string table is empty.
  std::vector<ElfSymbol> symbols() const;
  /// Those that apply to a section, with addends or without.
  std::vector<ElfRelocation> relocations(const ElfSection& section) const;

 private:
  std::optional<std::string> read(std::span<const std::byte> bytes);

  std::optional<std::string> damage_;
  std::uint16_t machine_ = 0, type_ = 0;
  std::uint32_t flags_ = 0;
  std::uint8_t abi_version_ = 0;
  std::vector<ElfSection> sections_;
};

/// Reads numbers from the front of bytes. After the end every number is 0, and ok() is false.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <typename T>
  T next() {
    T value{};
    const std::span<const std::byte> raw = take(sizeof value);
    auto* const to = reinterpret_cast<std::byte*>(&value);
    for (std::size_t i = 0; i < raw.size(); ++i) to[i] = raw[i];
    return value;
  }
  std::uint64_t uleb128();  ///< a number as DWARF packs it, 7 bits a byte
  std::int64_t sleb128();
  /// The text up to a zero byte, which is skipped; without one, the rest.
  std::string_view text();
  /// The next bytes; none, and ok() is false, if there are fewer.
  std::span<const std::byte> take(std::uint64_t size);

  bool ok() const { return ok_; }
  bool at_end() const { return at_ >= bytes_.size(); }
  std::size_t position() const { return at_; }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace ptxloom
