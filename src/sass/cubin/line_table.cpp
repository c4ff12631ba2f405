// SPDX-License-Identifier: Apache-2.0
#include "sass/cubin/line_table.hpp"

#include <algorithm>
#include <map>

namespace ptxloom::sass {
namespace {

constexpr std::uint16_t kNewestVersion = 3;  // ptxas writes 2; later ones have other headers

// Numbers of DWARF 2, section 6.2.5.
enum : std::uint8_t {
  kExtended = 0,
  kCopy = 1,
  kAdvancePc = 2,
  kAdvanceLine = 3,
  kSetFile = 4,
  kConstAddPc = 8,
  kFixedAdvancePc = 9,
  kEndSequence = 1,
  kSetAddress = 2
};

/// What a unit says before its program of lines.
struct UnitHeader {
  unsigned smallest = 1;  ///< bytes of the smallest instruction
  int line_base = 0;
  unsigned line_range = 1;
  unsigned opcode_base = 1;
  std::vector<std::uint8_t> arguments;  ///< of each standard opcode
  std::vector<std::string> files;
};

std::vector<std::string> read_files(ByteReader& reader) {
  std::vector<std::string_view> folders{""};
  for (std::string_view folder = reader.text(); !folder.empty(); folder = reader.text())
    folders.push_back(folder);
  std::vector<std::string> files;
  for (std::string_view name = reader.text(); !name.empty(); name = reader.text()) {
    const std::uint64_t folder = reader.uleb128();
    reader.uleb128();  // time
    reader.uleb128();  // size
    std::string path(folder < folders.size() ? folders[folder] : "");
    if (!path.empty() && !name.starts_with('/')) path += '/';
    files.push_back(name.starts_with('/') ? std::string(name) : path.append(name));
  }
  return files;
}

UnitHeader read_header(ByteReader& reader) {
  UnitHeader header;
  header.smallest = reader.next<std::uint8_t>();
  reader.next<std::uint8_t>();  // whether a row is a statement by default
  header.line_base = reader.next<std::int8_t>();
  header.line_range = reader.next<std::uint8_t>();
  header.opcode_base = reader.next<std::uint8_t>();
  for (unsigned i = 1; i < header.opcode_base; ++i) header.arguments.push_back(reader.next<std::uint8_t>());
  header.files = read_files(reader);
  return header;
}

/// Runs the program of one unit, of which it keeps the sequences of one section of code.
class Program {
 public:
  /// `wanted`: where in the table the addresses lie that are relocated to this section, and what is added to
  /// them.
  Program(const UnitHeader& header, const std::map<std::uint64_t, std::uint64_t>& wanted, LineTable& to)
      : header_(header), wanted_(wanted), to_(to), first_file_(static_cast<int>(to.files.size())) {
    to_.files.insert(to_.files.end(), header.files.begin(), header.files.end());
  }

  /// `position`: of the reader's first byte in the table.
  void run(ByteReader reader, std::uint64_t position) {
    while (!reader.at_end()) {
      const auto opcode = reader.next<std::uint8_t>();
      if (opcode >= header_.opcode_base) {
        special(opcode);
      } else if (opcode == kExtended) {
        const std::uint64_t size = reader.uleb128();
        const std::uint64_t at = position + reader.position();
        extended(ByteReader(reader.take(size)), at);
      } else {
        standard(opcode, reader);
      }
    }
  }

 private:
  void row() {
    if (!wanted_here_) return;
    const bool named = file_ >= 1 && file_ <= header_.files.size();
    to_.rows.push_back({.offset = address_,
                        .file = named ? first_file_ + static_cast<int>(file_) - 1 : -1,
                        .line = static_cast<int>(std::clamp<std::int64_t>(line_, 0, 1 << 30))});
  }

  void advance(std::uint64_t count) { address_ += count * header_.smallest; }

  void special(std::uint8_t opcode) {
    if (header_.line_range == 0) return;
    const unsigned adjusted = opcode - header_.opcode_base;
    advance(adjusted / header_.line_range);
    add_lines(header_.line_base + static_cast<int>(adjusted % header_.line_range));
    row();
  }

  /// As unsigned, which damage cannot overflow.
  void add_lines(std::int64_t count) {
    line_ = static_cast<std::int64_t>(static_cast<std::uint64_t>(line_) + static_cast<std::uint64_t>(count));
  }

  void standard(std::uint8_t opcode, ByteReader& reader) {
    switch (opcode) {
      case kCopy:
        return row();
      case kAdvancePc:
        return advance(reader.uleb128());
      case kAdvanceLine:
        return add_lines(reader.sleb128());
      case kSetFile:
        file_ = reader.uleb128();
        return;
      case kConstAddPc:
        if (header_.line_range != 0) advance((255 - header_.opcode_base) / header_.line_range);
        return;
      case kFixedAdvancePc:
        address_ += reader.next<std::uint16_t>();
        return;
      default:
        for (unsigned i = 0; i < header_.arguments[opcode - 1U]; ++i) reader.uleb128();
    }
  }

  /// Others, such as NVIDIA's for inlined functions, are skipped.
  void extended(ByteReader reader, std::uint64_t position) {
    const auto opcode = reader.next<std::uint8_t>();
    if (opcode == kSetAddress) {
      const auto place = wanted_.find(position + 1);
      wanted_here_ = place != wanted_.end();
      address_ = reader.next<std::uint64_t>() + (wanted_here_ ? place->second : 0);
    } else if (opcode == kEndSequence) {
      line_ = 0;  // nothing is said of what follows
      row();
      line_ = 1;
      file_ = 1;
      address_ = 0;
      wanted_here_ = false;
    }
  }

  const UnitHeader& header_;
  const std::map<std::uint64_t, std::uint64_t>& wanted_;
  LineTable& to_;
  int first_file_;
  bool wanted_here_ = false;
  std::uint64_t address_ = 0, file_ = 1;
  std::int64_t line_ = 1;
};

/// Where addresses of the table are relocated to this section of code, and what is added to them.
std::map<std::uint64_t, std::uint64_t> places_of(const ElfView& file, const ElfSection& table,
                                                 std::uint32_t code) {
  const std::vector<ElfSymbol> symbols = file.symbols();
  std::map<std::uint64_t, std::uint64_t> places;
  for (const ElfRelocation& relocation : file.relocations(table)) {
    if (relocation.symbol >= symbols.size() || symbols[relocation.symbol].section != code) continue;
    places[relocation.offset] =
        symbols[relocation.symbol].value + static_cast<std::uint64_t>(relocation.addend);
  }
  return places;
}

}  // namespace

const LineRow* LineTable::find(std::uint64_t offset) const {
  const auto next = std::ranges::upper_bound(rows, offset, {}, &LineRow::offset);
  if (next == rows.begin()) return nullptr;
  const LineRow& row = *std::prev(next);
  return row.line > 0 ? &row : nullptr;
}

LineTable lines_of(const ElfView& file, const ElfSection& table, std::uint32_t code) {
  LineTable lines;
  const std::map<std::uint64_t, std::uint64_t> places = places_of(file, table, code);
  if (places.empty()) return lines;
  ByteReader units(table.data);
  while (!units.at_end() && units.ok()) {
    const std::uint64_t size = units.next<std::uint32_t>();
    const std::uint64_t start = units.position();
    const std::span<const std::byte> bytes = units.take(size);
    ByteReader unit(bytes);
    const auto version = unit.next<std::uint16_t>();
    const std::uint64_t header_size = unit.next<std::uint32_t>();
    const std::uint64_t header_start = unit.position();
    if (!unit.ok() || version > kNewestVersion || header_size > bytes.size() - header_start) break;
    const UnitHeader header = read_header(unit);
    const std::uint64_t program = header_start + header_size;
    Program(header, places, lines).run(ByteReader(bytes.subspan(program)), start + program);
  }
  std::ranges::stable_sort(lines.rows, {}, &LineRow::offset);
  return lines;
}

}  // namespace ptxloom::sass
