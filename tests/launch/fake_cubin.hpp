// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstring>
#include <vector>

/// The smallest file that passes for GPU code: an ELF header, one section header, and a section of 16 bytes.
inline std::vector<std::byte> fake_cubin(Elf64_Half machine = EM_CUDA) {
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_machine = machine;
  header.e_shoff = sizeof(Elf64_Ehdr);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 1;
  Elf64_Shdr section = {};
  section.sh_type = SHT_PROGBITS;
  section.sh_offset = sizeof header + sizeof section;
  section.sh_size = 16;
  std::vector<std::byte> bytes(section.sh_offset + section.sh_size);
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, &section, sizeof section);
  return bytes;
}
