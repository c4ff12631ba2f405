// SPDX-License-Identifier: Apache-2.0
#include "sass/cubin/cubin_view.hpp"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <span>

#include "ptxloom/error.hpp"
#include "sass/cubin/cubin_info.hpp"

namespace ptxloom::sass {
namespace {

constexpr std::string_view kCode = ".text.";
constexpr std::uint8_t kEntry = 0x10;  // STO_CUDA_ENTRY of a symbol
constexpr std::uint8_t kNewLayout =
    8;  // ABI version since which the chip is in other bits, with CUDA 12.8 and 13
constexpr std::uint32_t kFatbinMagic = 0xBA55ED50;
constexpr std::string_view kArchiveMagic = "!<arch>\n";

[[noreturn]] void refuse(std::string_view name, std::string_view why, std::string hint) {
  throw Error(ErrorKind::usage, "bad-cubin", fmt::format("{} is no cubin: {}", name, why), std::move(hint));
}

/// What the file is instead, where that is known.
void check_kind(std::span<const std::byte> bytes, const ElfView& file, std::string_view name) {
  static constexpr std::string_view kExtract =
      "a cubin is what `ptxloom compile` writes; `cuobjdump -xelf all FILE` extracts those in a file";
  if (ByteReader(bytes).next<std::uint32_t>() == kFatbinMagic)
    refuse(name, "it is a fatbin, which holds cubins", std::string(kExtract));
  if (std::ranges::equal(bytes.first(std::min(bytes.size(), kArchiveMagic.size())),
                         std::as_bytes(std::span(kArchiveMagic))))
    refuse(name, "it is a static library, whose members may hold cubins", std::string(kExtract));
  if (file.damage()) refuse(name, *file.damage(), "a cubin is what `ptxloom compile` writes");
  if (file.machine() == EM_CUDA) return;
  const bool holds = std::ranges::any_of(file.sections(), [](const ElfSection& section) {
    return section.name.starts_with(".nv_fatbin") || section.name == "__nv_relfatbin";  // nvcc -dc
  });
  refuse(name, holds ? "it is a file of the host, which holds cubins" : "it is not GPU code",
         std::string(kExtract));
}

int chip_of(const ElfView& file) {
  return static_cast<int>((file.abi_version() >= kNewLayout ? file.flags() >> 8U : file.flags()) & 0xFFU);
}

/// Throws Error(usage, "unknown-target").
std::string target_of(int chip, bool one_chip, std::string_view name) {
  const TargetInfo* best = nullptr;
  for (const TargetInfo& target : targets()) {
    if (target.number == chip && target.suffix == (one_chip ? 'a' : '\0')) best = &target;
  }
  if (best != nullptr) return std::string(best->name);
  throw Error(
      ErrorKind::usage, "unknown-target",
      fmt::format("{} is for a chip that is not known, sm_{}{}", name, chip, one_chip ? "a" : ""),
      fmt::format("known are the chips from {} to {}", targets().front().name, targets().back().name));
}

/// No section has more than the file: sections that overlap could make a small file large.
void check_sizes(std::span<const CubinFunction> functions, std::size_t bytes, std::string_view name) {
  std::size_t code = 0;
  for (const CubinFunction& function : functions) code += function.code.size();
  if (code > bytes) refuse(name, "its sections overlap", "a cubin is what `ptxloom compile` writes");
}

/// Before the ABI version kNewLayout, registers and barriers are in numbers of the section.
void read_section_numbers(const ElfSection& section, CubinFunction& function) {
  function.registers = static_cast<int>(section.info >> 24U);
  function.barriers = static_cast<int>(section.flags >> 20U & 0x7FU);
}

void read_symbols(const std::vector<ElfSymbol>& symbols, CubinFunction& function) {
  for (const ElfSymbol& symbol : symbols) {
    if (symbol.section != function.section || symbol.type != STT_FUNC) continue;
    function.labels.push_back({.offset = symbol.value, .name = symbol.name});
    if (symbol.name == function.name) function.kernel = (symbol.other & kEntry) != 0;
  }
  std::ranges::stable_sort(function.labels, {}, &CodeLabel::offset);
}

int size_of(const ElfView& file, const std::string& section) {
  const ElfSection* const found = file.find(section);
  return found == nullptr ? 0 : static_cast<int>(std::min<std::uint64_t>(found->size, 1U << 30U));
}

/// Whether it holds a text of PTX. In object files, and in what is linked of them, a number ends its name,
/// and tables of lines name the section as the file.
bool is_ptx(const ElfSection& section) { return section.name.starts_with(".nv_debug_ptx_txt"); }

std::vector<std::string_view> texts_in(const ElfSection& section) {
  std::vector<std::string_view> texts;
  ByteReader reader(section.data);
  while (!reader.at_end()) texts.push_back(reader.text());
  return texts;
}

}  // namespace

CubinView::CubinView(std::span<const std::byte> bytes, std::string_view name) : file_(bytes) {
  check_kind(bytes, file_, name);
  chip_ = chip_of(file_);
  target_ = target_of(chip_, for_one_chip(file_), name);
  relocatable_ = file_.type() == ET_REL;
  const std::vector<ElfSymbol> symbols = file_.symbols();
  for (std::size_t i = 0; i < file_.sections().size(); ++i) {
    const ElfSection& section = file_.sections()[i];
    if (section.type != SHT_PROGBITS || !section.name.starts_with(kCode)) continue;
    CubinFunction& function = functions_.emplace_back();
    function.name = section.name.substr(kCode.size());
    function.section = static_cast<std::uint32_t>(i);
    function.code = section.data;
    function.shared = size_of(file_, ".nv.shared." + std::string(function.name));
    if (file_.abi_version() < kNewLayout) read_section_numbers(section, function);
    read_symbols(symbols, function);
  }
  check_sizes(functions_, bytes.size(), name);
  read_attributes(file_, symbols, functions_);
}

LineTable CubinView::lines(const CubinFunction& function, std::string_view table) const {
  const ElfSection* const section = file_.find(table);
  return section == nullptr ? LineTable{} : lines_of(file_, *section, function.section);
}

LineTable CubinView::source_lines(const CubinFunction& function) const {
  return lines(function, ".debug_line");
}

LineTable CubinView::ptx_lines(const CubinFunction& function) const {
  LineTable table = lines(function, ".nv_debug_line_sass");
  int before = 0;  // lines of other texts
  for (const ElfSection& section : file_.sections()) {
    if (!is_ptx(section)) continue;
    for (LineRow& row : table.rows)
      if (row.line > 0 && row.file >= 0 && table.files[static_cast<std::size_t>(row.file)] == section.name)
        row.line += before;
    before += static_cast<int>(texts_in(section).size());
  }
  return table;
}

std::vector<std::string_view> CubinView::ptx_text() const {
  std::vector<std::string_view> lines;
  for (const ElfSection& section : file_.sections())
    if (is_ptx(section)) std::ranges::copy(texts_in(section), std::back_inserter(lines));
  return lines;
}

bool is_binary(std::string_view bytes) {
  return bytes.starts_with(std::string_view(ELFMAG, SELFMAG)) || bytes.find('\0') != bytes.npos;
}

}  // namespace ptxloom::sass
