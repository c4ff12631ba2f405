// SPDX-License-Identifier: Apache-2.0
#include "base/elf_view.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>

namespace ptxloom {
namespace {

/// Whether [offset, offset + count * size) is within the bytes.
bool within(std::span<const std::byte> bytes, std::uint64_t offset, std::uint64_t count, std::uint64_t size) {
  if (offset > bytes.size()) return false;
  return size == 0 || count <= (bytes.size() - offset) / size;
}

template <typename T>
T load(std::span<const std::byte> bytes, std::uint64_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

/// Variables of shared or global memory that start without a value have no bytes in a cubin: their sections
/// may reach beyond its end.
bool has_contents(const Elf64_Ehdr& header, std::uint32_t type) {
  constexpr std::uint16_t kCuda = 190;                                           // EM_CUDA
  constexpr std::uint32_t kCudaGlobal = 0x7000'0007, kCudaShared = 0x7000'000A;  // as ptxas writes them
  if (type == SHT_NOBITS || type == SHT_NULL) return false;
  return header.e_machine != kCuda || (type != kCudaGlobal && type != kCudaShared);
}

/// nullopt if it lies outside of the table, or does not end in it.
std::optional<std::string_view> text_at(std::span<const std::byte> table, std::uint64_t offset) {
  if (offset >= table.size()) return std::nullopt;
  const std::string_view rest(reinterpret_cast<const char*>(table.data()) + offset, table.size() - offset);
  const std::size_t end = rest.find('\0');
  if (end == rest.npos) return std::nullopt;
  return rest.substr(0, end);
}

}  // namespace

ElfView::ElfView(std::span<const std::byte> bytes) {
  damage_ = read(bytes);
  if (damage_) sections_.clear();
}

std::optional<std::string> ElfView::read(std::span<const std::byte> bytes) {
  if (bytes.size() < SELFMAG || std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0)
    return "it is not an ELF file";
  if (bytes.size() < sizeof(Elf64_Ehdr)) return "it is truncated";
  const auto header = load<Elf64_Ehdr>(bytes, 0);
  if (header.e_ident[EI_CLASS] != ELFCLASS64) return "it is not a 64-bit ELF file";
  if (header.e_ident[EI_DATA] != ELFDATA2LSB) return "it is a big-endian ELF file";
  machine_ = header.e_machine;
  type_ = header.e_type;
  flags_ = header.e_flags;
  abi_version_ = header.e_ident[EI_ABIVERSION];
  if (!within(bytes, header.e_phoff, header.e_phnum, header.e_phentsize) ||
      !within(bytes, header.e_shoff, header.e_shnum, header.e_shentsize) ||
      (header.e_shnum > 0 && header.e_shentsize < sizeof(Elf64_Shdr)))
    return "it is truncated";

  std::vector<std::uint32_t> names;
  for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
    const auto from = load<Elf64_Shdr>(bytes, header.e_shoff + i * header.e_shentsize);
    ElfSection& section = sections_.emplace_back(ElfSection{.type = from.sh_type,
                                                            .flags = from.sh_flags,
                                                            .size = from.sh_size,
                                                            .link = from.sh_link,
                                                            .info = from.sh_info});
    names.push_back(from.sh_name);
    if (!has_contents(header, from.sh_type)) continue;
    if (!within(bytes, from.sh_offset, from.sh_size, 1)) return "it is truncated";
    section.data = bytes.subspan(from.sh_offset, from.sh_size);
  }
  if (header.e_shstrndx == SHN_UNDEF) return std::nullopt;  // its sections have no names
  if (header.e_shstrndx >= sections_.size()) return "its table of section names is missing";
  for (std::size_t i = 0; i < sections_.size(); ++i) {
    const auto name = text_at(sections_[header.e_shstrndx].data, names[i]);
    if (!name) return "the name of a section lies outside of the table of names";
    sections_[i].name = *name;
  }
  return std::nullopt;
}

const ElfSection* ElfView::find(std::string_view name) const {
  const auto found = std::ranges::find(sections_, name, &ElfSection::name);
  return found == sections_.end() ? nullptr : &*found;
}

std::vector<ElfSymbol> ElfView::symbols() const {
  std::vector<ElfSymbol> symbols;
  const auto table =
      std::ranges::find(sections_, std::uint32_t{SHT_SYMTAB}, [](const ElfSection& s) { return s.type; });
  if (table == sections_.end()) return symbols;
  std::span<const std::byte> names;
  if (table->link < sections_.size()) names = sections_[table->link].data;
  for (std::size_t at = 0; table->data.size() - at >= sizeof(Elf64_Sym); at += sizeof(Elf64_Sym)) {
    const auto from = load<Elf64_Sym>(table->data, at);
    symbols.push_back({.name = text_at(names, from.st_name).value_or(""),
                       .type = static_cast<std::uint8_t>(ELF64_ST_TYPE(from.st_info)),
                       .other = from.st_other,
                       .section = from.st_shndx,
                       .value = from.st_value,
                       .size = from.st_size});
  }
  return symbols;
}

std::vector<ElfRelocation> ElfView::relocations(const ElfSection& section) const {
  std::vector<ElfRelocation> found;
  for (const ElfSection& table : sections_) {
    const bool addends = table.type == SHT_RELA;
    if ((!addends && table.type != SHT_REL) || table.info >= sections_.size() ||
        &sections_[table.info] != &section)
      continue;
    const std::size_t size = addends ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
    for (std::size_t at = 0; table.data.size() - at >= size; at += size) {
      ByteReader reader(table.data.subspan(at, size));
      const auto offset = reader.next<std::uint64_t>(), info = reader.next<std::uint64_t>();
      found.push_back({.offset = offset,
                       .symbol = static_cast<std::uint32_t>(ELF64_R_SYM(info)),
                       .addend = addends ? reader.next<std::int64_t>() : 0});
    }
  }
  return found;
}

std::span<const std::byte> ByteReader::take(std::uint64_t size) {
  if (!ok_ || size > bytes_.size() - at_) {
    ok_ = false;
    at_ = bytes_.size();
    return {};
  }
  const std::span<const std::byte> taken = bytes_.subspan(at_, size);
  at_ += size;
  return taken;
}

std::uint64_t ByteReader::uleb128() {
  std::uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = next<std::uint8_t>();
    if (shift < 64) value |= std::uint64_t{byte & 0x7FU} << shift;
    if ((byte & 0x80U) == 0) return value;
  }
}

std::int64_t ByteReader::sleb128() {
  std::uint64_t value = 0;
  for (unsigned shift = 0;;) {
    const auto byte = next<std::uint8_t>();
    if (shift < 64) value |= std::uint64_t{byte & 0x7FU} << shift;
    shift += 7;
    if ((byte & 0x80U) != 0) continue;
    if (shift < 64 && (byte & 0x40U) != 0) value |= ~std::uint64_t{0} << shift;
    return static_cast<std::int64_t>(value);
  }
}

std::string_view ByteReader::text() {
  const std::string_view rest(reinterpret_cast<const char*>(bytes_.data()) + at_, bytes_.size() - at_);
  const std::size_t end = rest.find('\0');
  at_ += end == rest.npos ? rest.size() : end + 1;
  return rest.substr(0, end);
}

}  // namespace ptxloom
