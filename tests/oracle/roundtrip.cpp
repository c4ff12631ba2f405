// SPDX-License-Identifier: Apache-2.0
#include "oracle/roundtrip.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <set>

#include "ptxloom/check.hpp"
#include "ptxloom/ptx.hpp"
#include "support/cubin.hpp"
#include "support/ptxas.hpp"

namespace ptxloom::oracle {
namespace {

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Machine code, what the driver is told of it, data, and lines of the source, with their relocations. Not
// .nv_debug_*, which quotes the PTX itself, nor tables with places of names, for ptxas makes some names of
// places in the text.
bool compared(std::string_view section) {
  static constexpr std::array<std::string_view, 3> kAbout{".nv.capmerc", ".rela",
                                                          ".rel"};  // of another section
  static constexpr std::array<std::string_view, 7> kPrefixes{
      ".text", ".nv.info", ".nv.constant", ".nv.global", ".nv.shared", ".nv.local", ".debug_"};
  const auto starts = [&](std::string_view prefix) { return section.starts_with(prefix); };
  for (auto about = std::ranges::find_if(kAbout, starts); about != kAbout.end();
       about = std::ranges::find_if(kAbout, starts))
    section.remove_prefix(about->size());
  return std::ranges::any_of(kPrefixes, starts);
}

std::string differences(const std::filesystem::path& theirs, const std::filesystem::path& ours) {
  const auto a = sections_of(read_file(theirs)), b = sections_of(read_file(ours));
  std::set<std::string> names;
  for (const auto* sections : {&a, &b})
    for (const auto& [name, data] : *sections)
      if (compared(name)) names.insert(name);
  std::string text;
  for (const std::string& name : names) {
    const auto x = a.find(name), y = b.find(name);
    if (x == a.end() || y == b.end() || x->second != y->second) text += " " + name;
  }
  return text;
}

// As nvcc calls it; -c, for a module need not be complete.
CommandResult assemble(const Toolchain& tools, const std::filesystem::path& ptx, const ir::Module& module,
                       const std::filesystem::path& cubin) {
  const bool debug = std::find(module.modes.begin(), module.modes.end(), "debug") != module.modes.end();
  return run_command("ulimit -v 8000000; '" + tools.ptxas + "' -c -arch=" + module.target +
                     (debug ? " -g" : "") + (module.files.empty() || debug ? "" : " -lineinfo") + " '" +
                     ptx.string() + "' -o '" + cubin.string() + "'");
}

std::string first_lines(const std::string& text) {
  std::size_t end = 0;
  for (int line = 0; line < 4 && end != text.npos; ++line) end = text.find('\n', end + 1);
  return text.substr(0, end);
}

std::string complaints_of(const ParseResult& read) {
  std::string text;
  std::vector<Diagnostic> found = read.diagnostics;
  if (read.ok()) found = check(read.module);
  for (const Diagnostic& diagnostic : found)
    if (diagnostic.severity == Severity::error) text += to_string(diagnostic) + "\n";
  return first_lines(text);
}

}  // namespace

Verdict round_trip(const Toolchain& tools, const std::filesystem::path& ptx,
                   const std::filesystem::path& folder, const std::shared_ptr<const Specs>& specs) {
  const std::string text = read_file(ptx);
  const ParseResult read = parse(text, specs);
  Verdict verdict{.facts = std::to_string(text.size()) + " bytes, " +
                           std::to_string(read.module.functions.size()) + " functions",
                  .complaints = complaints_of(read),
                  .failure = {},
                  .differences = {}};
  if (!read.ok()) return verdict;
  const std::string printed = print(read.module);
  const std::filesystem::path copy = folder / "printed.ptx";
  std::ofstream(copy, std::ios::binary) << printed;
  if (print(parse(printed, specs).module) != printed) verdict.failure = "its print is not stable";
  const CommandResult theirs = assemble(tools, ptx, read.module, folder / "theirs.cubin");
  const CommandResult ours = assemble(tools, copy, read.module, folder / "ours.cubin");
  if (theirs.status != 0) {
    verdict.failure = "ptxas refuses the original: " + first_lines(theirs.output);
  } else if (ours.status != 0) {
    verdict.failure = "ptxas refuses what was printed: " + first_lines(ours.output);
  } else {
    verdict.differences = differences(folder / "theirs.cubin", folder / "ours.cubin");
  }
  return verdict;
}

}  // namespace ptxloom::oracle
