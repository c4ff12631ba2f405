// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <span>
#include <stdexcept>
#include <string>

#include "base/elf_view.hpp"

/// The sections of a cubin by name. For those without contents in the file (shared and local memory), the
/// size as text.
inline std::map<std::string, std::string> sections_of(const std::string& cubin) {
  const ptxloom::ElfView file(std::as_bytes(std::span(cubin)));
  if (file.damage()) throw std::runtime_error("a cubin: " + *file.damage());
  std::map<std::string, std::string> sections;
  for (const ptxloom::ElfSection& section : file.sections()) {
    const bool empty = section.data.size() < section.size || section.name.starts_with(".nv.shared") ||
                       section.name.starts_with(".nv.local");
    sections[std::string(section.name)] =
        empty ? std::to_string(section.size) + " bytes"
              : std::string(reinterpret_cast<const char*>(section.data.data()), section.data.size());
  }
  return sections;
}
