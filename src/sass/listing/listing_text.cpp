// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "sass/listing/listing.hpp"

namespace ptxloom::sass {
namespace {

constexpr std::size_t kWidest = 56;  // of the column of PTX

/// A line of PTX without the blanks around it, cut to the column.
std::string shortened(std::string_view line) {
  const std::size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
  line.remove_prefix(begin);
  line = line.substr(0, line.find_last_not_of(" \t") + 1);
  std::string text(line);
  std::ranges::replace(text, '\t', ' ');
  if (text.size() <= kWidest) return text;
  return text.substr(0, kWidest - 3) + "...";
}

std::string left_of(const Listing& listing, const ListedInstruction& one) {
  return fmt::format("{:5}  {}", one.ptx_line, shortened(listing.ptx_line(one.ptx_line)));
}

std::size_t width_of(const Listing& listing, const ListedFunction& function) {
  std::size_t width = 0;
  for (const ListedInstruction& one : function.instructions)
    if (one.ptx_line > 0) width = std::max(width, left_of(listing, one).size());
  return width;
}

void add_function_text(std::string& to, const Listing& listing, const ListedFunction& function) {
  to += fmt::format("\n{}\n", summary(function.facts));
  const std::size_t width = width_of(listing, function);
  const std::string margin = width == 0 ? "" : fmt::format("{:{}} | ", "", width);
  int before = 0;
  for (const ListedInstruction& one : function.instructions) {
    for (const CodeLabel& label : function.facts.labels)
      if (label.offset == one.offset && label.name != function.facts.name)
        to += fmt::format("{}{}:\n", margin, label.name);
    if (!one.label.empty()) to += fmt::format("{}{}:\n", margin, one.label);
    // A line of PTX is written where its first instruction is.
    const bool starts = width > 0 && one.ptx_line > 0 && one.ptx_line != before;
    to += starts ? fmt::format("{:{}} | ", left_of(listing, one), width) : margin;
    before = one.ptx_line;
    to += fmt::format("{:04x} {} {}\n", one.offset, to_string(one.control), one.text);
  }
}

}  // namespace

std::string listing_text(const Listing& listing) {
  std::string text = fmt::format(
      "{} for {}{}, text by {}\n", listing.file, listing.target,
      listing.relocatable ? " (an object file: addresses are not final)" : "",
      listing.nvdisasm.empty() ? "ptxloom: opcodes and registers" : "nvdisasm " + listing.nvdisasm);
  for (const ListedFunction& function : listing.functions) add_function_text(text, listing, function);
  return text;
}

}  // namespace ptxloom::sass
