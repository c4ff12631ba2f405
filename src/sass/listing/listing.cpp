// SPDX-License-Identifier: Apache-2.0
#include "sass/listing/listing.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ptxloom::sass {
namespace {

std::vector<std::string> lines_of_text(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.emplace_back(line);
  }
  return lines;
}

/// The section ends with copies of one instruction, which are never reached.
std::size_t without_padding(const std::vector<Word>& words) {
  std::size_t count = words.size();
  while (count > 1 && words[count - 1] == words[count - 2]) --count;
  // One copy is left; it is padding too if there were others.
  return count < words.size() ? count - 1 : count;
}

class Lister {
 public:
  Lister(const ListingSource& source, const Decoder& decoder) : source_(source), decoder_(decoder) {}

  ListedFunction list(const CubinFunction& function) const {
    ListedFunction listed{.facts = function, .instructions = {}};
    const LineTable ptx = source_.cubin.ptx_lines(function), source = source_.cubin.source_lines(function);
    const SectionText* const text = text_of(function);
    std::vector<Word> words = words_of(function.code);
    words.resize(without_padding(words));
    for (std::size_t i = 0; i < words.size(); ++i) {
      ListedInstruction& one = listed.instructions.emplace_back();
      one.offset = i * kInstructionBytes;
      one.word = words[i];
      one.decoded = decoder_.decode(words[i]);
      one.control = control_code_of(words[i]);
      if (!one.decoded.reuse) one.control.reuse = 0;
      one.text = to_string(one.decoded);
      if (const LineRow* row = ptx.find(one.offset)) one.ptx_line = row->line;
      if (const LineRow* row = source.find(one.offset); row != nullptr && row->file >= 0) {
        one.source = source.files[static_cast<std::size_t>(row->file)];
        one.source_line = row->line;
      }
      if (text != nullptr) add_text(*text, one);
    }
    return listed;
  }

 private:
  const SectionText* text_of(const CubinFunction& function) const {
    if (source_.disassembly == nullptr) return nullptr;
    const auto found = source_.disassembly->sections.find(function.name);
    return found == source_.disassembly->sections.end() ? nullptr : &found->second;
  }

  static void add_text(const SectionText& text, ListedInstruction& one) {
    if (const auto found = text.instructions.find(one.offset); found != text.instructions.end())
      one.text = found->second;
    if (const auto found = text.labels.find(one.offset); found != text.labels.end())
      one.label = found->second;
  }

  const ListingSource& source_;
  const Decoder& decoder_;
};

std::string extent(const std::array<int, 3>& extent) {
  return fmt::format("{}x{}x{}", extent[0], extent[1], extent[2]);
}

}  // namespace

std::string_view Listing::ptx_line(int line) const {
  if (line < 1 || static_cast<std::size_t>(line) > ptx.size()) return {};
  return ptx[static_cast<std::size_t>(line) - 1];
}

Listing list(const ListingSource& source) {
  const CubinView& cubin = source.cubin;
  Listing listing{.file = std::string(source.name),
                  .target = std::string(cubin.target()),
                  .nvdisasm = {},
                  .relocatable = cubin.relocatable(),
                  .functions = {},
                  .ptx = {}};
  if (source.disassembly != nullptr && !source.disassembly->problem)
    listing.nvdisasm = source.disassembly->version;
  if (source.ptx) {
    listing.ptx = lines_of_text(*source.ptx);
  } else {
    for (const std::string_view line : cubin.ptx_text()) listing.ptx.emplace_back(line);
  }
  const Decoder decoder(cubin.chip());
  const Lister lister(source, decoder);
  for (const CubinFunction& function : cubin.functions()) listing.functions.push_back(lister.list(function));
  return listing;
}

std::string summary(const CubinFunction& function) {
  std::string text = fmt::format("{} {}: {} registers, {} bytes of shared memory, {} bytes of local memory",
                                 function.kernel ? "kernel" : "function", function.name, function.registers,
                                 function.shared, std::max(function.stack, function.frame));
  text += fmt::format(", {} barriers, {} bytes of parameters", function.barriers, function.parameter_bytes);
  if (function.block[0] > 0) text += fmt::format(", thread blocks of {}", extent(function.block));
  if (function.max_block[0] > 0) text += fmt::format(", thread blocks up to {}", extent(function.max_block));
  if (function.cluster[0] > 0) text += fmt::format(", clusters of {}", extent(function.cluster));
  return text;
}

}  // namespace ptxloom::sass
