// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/elf_view.hpp"

// Which line an instruction comes from. A cubin that was assembled with -lineinfo has two tables in DWARF's
// encoding: .debug_line leads to the source of the .loc directives, .nv_debug_line_sass to the lines of the
// PTX. Each is a list of sequences, one for each section of code, which a relocation names.
namespace ptxloom::sass {

struct LineRow {
  std::uint64_t offset =
      0;         ///< of the first instruction in the section of code; the row ends where the next begins
  int file = 0;  ///< index of LineTable::files; -1: none is named
  int line = 0;  ///< from 1; 0: no line from here on
};

/// The lines of one section of code, by offset.
struct LineTable {
  std::vector<std::string> files;
  std::vector<LineRow> rows;

  /// The row of an instruction; null if it has none.
  const LineRow* find(std::uint64_t offset) const;
};

/// What the table of lines called `table` says of the section of code with this index. A program of lines
/// that is damaged ends at the damage.
LineTable lines_of(const ElfView& file, const ElfSection& table, std::uint32_t code);

}  // namespace ptxloom::sass
