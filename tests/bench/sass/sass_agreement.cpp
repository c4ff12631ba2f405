// SPDX-License-Identifier: Apache-2.0
// How often specs/sass and nvdisasm agree on the instructions of cubins, by target, and how many a second are
// decoded (docs/results/sass.md).
//   sass_agreement [--show N] CUBIN|FOLDER...
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "ptxloom/error.hpp"
#include "sass/cubin/cubin_view.hpp"
#include "sass/instruction/nvdisasm.hpp"
#include "sass/nvdisasm_text.hpp"

namespace {

using namespace ptxloom;
using namespace ptxloom::sass;
namespace fs = std::filesystem;

struct Counts {
  long cubins = 0, instructions = 0, opcode = 0, guard = 0, registers = 0, reuse = 0, all = 0;
};

struct Tally {
  std::map<std::string, Counts> by_target;
  std::map<std::string, std::pair<long, std::string>>
      wrong;  ///< by what is decoded and the opcode; an example
  double seconds = 0;
};

void compare(const Word& word, const std::string& text, const Decoder& decoder, Counts& counts,
             Tally& tally) {
  const test::TextFacts theirs = test::facts_of(text);
  const Decoded decoded = decoder.decode(word);
  const test::TextFacts ours = test::facts_of(decoded, control_code_of(word).reuse);
  ++counts.instructions;
  counts.opcode += ours.opcode == theirs.opcode;
  counts.guard += ours.guard == theirs.guard;
  counts.registers += ours.registers == theirs.registers;
  counts.reuse += ours.reuse == theirs.reuse;
  const bool same = ours == theirs;
  counts.all += same;
  if (same) return;
  auto& [count, example] = tally.wrong[fmt::format("{:03x} {}", word.bits(0, 12), theirs.opcode)];
  if (count++ == 0) example = fmt::format("{}  <-  {}", text, to_string(decoded));
}

void read(const fs::path& path, Tally& tally) {
  std::ifstream in(path, std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(in), {}};
  const auto bytes = std::as_bytes(std::span(content));
  const CubinView view(bytes, path.string());
  const Disassembly disassembly = disassemble(bytes);
  if (disassembly.problem) throw Error(ErrorKind::missing, {*disassembly.problem});
  const Decoder decoder(view.chip());
  Counts& counts = tally.by_target[std::string(view.target())];
  ++counts.cubins;
  for (const CubinFunction& function : view.functions()) {
    const std::vector<Word> words = words_of(function.code);
    const auto begin = std::chrono::steady_clock::now();
    for (const Word& word : words) (void)decoder.decode(word);
    tally.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const auto texts = disassembly.sections.find(function.name);
    if (texts == disassembly.sections.end()) continue;
    for (const auto& [offset, text] : texts->second.instructions)
      if (offset / kInstructionBytes < words.size())
        compare(words[offset / kInstructionBytes], text, decoder, counts, tally);
  }
}

void print(const Tally& tally, std::size_t shown) {
  const auto percent = [](long part, long all) {
    return 100.0 * static_cast<double>(part) / static_cast<double>(std::max(1L, all));
  };
  fmt::print(
      "| target | cubins | instructions | opcode % | guard % | registers % | reuse % | all % |\n"
      "|---|---|---|---|---|---|---|---|\n");
  long all = 0;
  for (const auto& [target, c] : tally.by_target) {
    all += c.instructions;
    fmt::print("| {} | {} | {} | {:.3f} | {:.3f} | {:.3f} | {:.3f} | {:.3f} |\n", target, c.cubins,
               c.instructions, percent(c.opcode, c.instructions), percent(c.guard, c.instructions),
               percent(c.registers, c.instructions), percent(c.reuse, c.instructions),
               percent(c.all, c.instructions));
  }
  fmt::print("{:.1f} million instructions a second\n", static_cast<double>(all) / tally.seconds / 1e6);
  std::vector<std::pair<std::string, std::pair<long, std::string>>> wrong(tally.wrong.begin(),
                                                                          tally.wrong.end());
  std::ranges::sort(wrong, [](const auto& a, const auto& b) { return a.second.first > b.second.first; });
  for (std::size_t i = 0; i < std::min(shown, wrong.size()); ++i)
    fmt::print("{:7} {}: {}\n", wrong[i].second.first, wrong[i].first, wrong[i].second.second);
}

}  // namespace

int main(int argc, char** argv) {
  Tally tally;
  std::size_t shown = 0;
  try {
    for (int i = 1; i < argc; ++i) {
      if (std::string_view(argv[i]) == "--show" && i + 1 < argc) {
        shown = std::stoul(argv[++i]);
      } else if (fs::is_directory(argv[i])) {
        for (const auto& entry : fs::recursive_directory_iterator(argv[i]))
          if (entry.path().extension() == ".cubin") read(entry.path(), tally);
      } else {
        read(argv[i], tally);
      }
    }
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return exit_code(error.kind());
  }
  print(tally, shown);
  return 0;
}
