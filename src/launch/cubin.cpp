// SPDX-License-Identifier: Apache-2.0
#include "launch/cubin.hpp"

#include <elf.h>

#include <cstdint>
#include <cstring>

namespace ptxloom::launch {
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

}  // namespace

std::optional<std::string> damage_of_cubin(std::span<const std::byte> bytes) {
  if (bytes.size() < SELFMAG || std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0)
    return "it is not an ELF file";
  if (bytes.size() < sizeof(Elf64_Ehdr)) return "it is truncated";
  const auto header = load<Elf64_Ehdr>(bytes, 0);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_CUDA) return "it is not GPU code";
  if (!within(bytes, header.e_phoff, header.e_phnum, header.e_phentsize) ||
      !within(bytes, header.e_shoff, header.e_shnum, header.e_shentsize) ||
      (header.e_shnum > 0 && header.e_shentsize < sizeof(Elf64_Shdr))) {
    return "it is truncated";
  }
  for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
    const auto section = load<Elf64_Shdr>(bytes, header.e_shoff + i * header.e_shentsize);
    if (section.sh_type != SHT_NOBITS && !within(bytes, section.sh_offset, section.sh_size, 1)) {
      return "it is truncated";
    }
  }
  return std::nullopt;
}

}  // namespace ptxloom::launch
