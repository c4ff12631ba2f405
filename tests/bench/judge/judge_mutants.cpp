// SPDX-License-Identifier: Apache-2.0
// What the CPU executor notices of broken kernels: correct ones (gemm in several configurations, those of
// mutants.ptx) are broken in one place at a time and run. Noticed is a mutant that ends in a fault, or whose
// outputs are not those of the kernel, bit by bit. Only lines that
// run are broken. `--list` names the mutants that nothing notices: they are to be looked at by hand, for many
// do the same in every order that PTX allows. `--seed N` repeats a run, `--most N` is how many mutants of a
// kind a kernel gives.
#include <fmt/format.h>

#include <cstring>
#include <map>
#include <random>
#include <regex>
#include <stdexcept>

#include "base/file.hpp"
#include "bench/bench.hpp"
#include "bench/judge/mutant_work.hpp"
#include "support/folders.hpp"

using namespace ptxloom;
using namespace ptxloom::bench;

namespace {

struct Mutant {
  std::string kind, place, text;
  std::uint32_t threads = 0;  ///< of a block; 0: as they are
};

constexpr std::string_view kGuardDropped = "guard dropped";

/// A kind of mutant made of a line: what it matches is replaced, or the line goes where there is nothing to
/// replace it.
struct Rule {
  std::string_view kind;
  std::regex pattern;
  const char* replacement;
};

const std::vector<Rule>& rules() {
  static const std::vector<Rule> all = [] {
    const auto line = [](const char* text) {
      return std::regex(std::string("^\\s*(@!?%\\w+ )?") + text + ".*");
    };
    return std::vector<Rule>{
        {"barrier dropped", line("bar(rier)?\\."), ""},
        {"barrier for 32 threads less", std::regex("(bar\\.sync \\d+), 128"), "$1, 96"},
        {"wait for copies dropped", line("cp\\.async(\\.bulk)?\\.wait"), ""},
        {"wait for one group less", std::regex("(wait_group(?:\\.sync\\.aligned)?) 0"), "$1 1"},
        {"wait for one group less", std::regex("(wait_group) 1"), "$1 2"},
        {"commit_group dropped", line("\\w+(\\.\\w+)*\\.commit_group"), ""},
        {"copy dropped", line("cp\\.async\\S*(global|shared)\\S* \\["), ""},
        {"proxy fence dropped", line("fence\\.proxy"), ""},
        {"wgmma.fence dropped", line("wgmma\\.fence"), ""},
        {"wgmma.wait_group dropped", line("wgmma\\.wait_group"), ""},
        {"mbarrier wait dropped", std::regex("^\\s*@!%done bra.*"), ""},
        {"mbarrier.init dropped", line("mbarrier\\.init"), ""},
        {"mbarrier.arrive dropped", line("mbarrier\\.arrive"), ""},
        {"arrival count raised", std::regex("(mbarrier\\.init\\S* \\[\\S+), 4"), "$1, 5"},
        {"expected bytes changed", std::regex("(expect_tx\\S* _, \\[\\S+), 2304"), "$1, 2048"},
        {"parity inverted", std::regex("(try_wait\\.parity\\S* %\\w+, \\[\\S+\\]), %parity"), "$1, 1"},
        {"constant not moved",
         std::regex("^\\s*mov\\.\\w+ %\\w+, (0|0f00000000|0d0000000000000000|[a-z]\\w*);"), ""},
        {"store to shared memory dropped", line("st\\.shared"), ""},
        {kGuardDropped, std::regex("^(\\s*)@!?%\\w+ (?!bra)"), "$1"},
        {"address 4 bytes further",
         std::regex("((?:ld|st|ldmatrix|cp)\\.\\S*(?:shared|global)\\S* (?:%\\w+, |\\{[^}]*\\}, "
                    ")?\\[%\\w+)(?=\\+|\\])"),
         "$1+4"},
        {"address 16 bytes further",
         std::regex("((?:ld|st|ldmatrix|cp)\\.\\S*(?:shared|global)\\S* (?:%\\w+, |\\{[^}]*\\}, "
                    ")?\\[%\\w+)(?=\\+|\\])"),
         "$1+16"},
        {"source 16 bytes further", std::regex("(cp\\.\\S* \\[%\\w+(?:\\+\\d+)?\\], \\[%\\w+)(?=\\+|\\])"),
         "$1+16"},
    };
  }();
  return all;
}

/// PTX has one displacement: [%r+16+4] becomes [%r+20].
std::string with_sum(const std::string& line) {
  static const std::regex twice("\\+(\\d+)\\+(-?\\d+)\\]");
  std::smatch match;
  if (!std::regex_search(line, match, twice)) return line;
  const int sum = std::stoi(match[1]) + std::stoi(match[2]);
  return match.prefix().str() + fmt::format("+{}]", sum) + match.suffix().str();
}

std::vector<Mutant> mutants_of(const Work& work, const std::map<std::size_t, bool>& runs) {
  std::vector<Mutant> mutants;
  const std::vector<std::string> lines = lines_of(work.text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto found = runs.find(i + 1);
    if (found == runs.end()) continue;
    for (const Rule& rule : rules()) {
      if (!std::regex_search(lines[i], rule.pattern)) continue;
      if (rule.kind == kGuardDropped && !found->second) continue;
      const std::string changed = with_sum(std::regex_replace(lines[i], rule.pattern, rule.replacement));
      if (changed == lines[i]) continue;
      std::string text;
      for (std::size_t j = 0; j < lines.size(); ++j) text += (j == i ? changed : lines[j]) + "\n";
      mutants.push_back(
          {std::string(rule.kind), fmt::format("line {}: {}", i + 1, lines[i]), std::move(text)});
    }
  }
  const std::uint32_t threads = work.steps[0].launch.block[0];
  for (const std::uint32_t changed : {threads - 32, threads + 32, threads - 8})
    if (changed != 0 && changed < threads + 64)
      mutants.push_back({"thread count changed", fmt::format("{} threads", changed), work.text, changed});
  return mutants;
}

struct Tally {
  int mutants = 0, faults = 0, only_judged = 0, wrong = 0, unnoticed = 0;
  std::map<std::string, int> codes;
};

struct Options {
  std::uint64_t seed = std::random_device{}();
  std::size_t most = 12;
  bool list = false;
};

void try_all(const Work& work, const std::shared_ptr<const Specs>& specs, const Options& options,
             std::mt19937_64& random, std::map<std::string, Tally>& tallies) {
  std::vector<exec::InstructionStats> counts;
  const Outcome original = run(work, work.text, specs, {.counts = &counts});
  if (!original.code.empty()) throw std::runtime_error(work.name + " is at fault itself: " + original.code);
  std::map<std::string, std::vector<Mutant>> by_kind;
  for (Mutant& mutant : mutants_of(work, lines_that_run(counts)))
    by_kind[mutant.kind].push_back(std::move(mutant));
  for (auto& [kind, mutants] : by_kind) {
    std::ranges::shuffle(mutants, random);
    if (mutants.size() > options.most) mutants.resize(options.most);
    for (const Mutant& mutant : mutants) {
      Work changed = work;
      if (mutant.threads != 0) changed.steps[0].launch.block[0] = mutant.threads;
      const Outcome outcome = run(changed, mutant.text, specs, {});
      if (outcome.code == "illegal") continue;
      Tally& tally = tallies[kind];
      ++tally.mutants;
      if (!outcome.code.empty()) {
        ++tally.faults;
        ++tally.codes[outcome.code];
        const Outcome unjudged = run(changed, mutant.text, specs, {.judge = false});
        if (unjudged.code.empty() && unjudged.outputs == original.outputs) ++tally.only_judged;
      } else if (outcome.outputs != original.outputs) {
        ++tally.wrong;
      } else {
        ++tally.unnoticed;
        if (options.list) fmt::print("unnoticed: {}: {}: {}\n", work.name, kind, mutant.place);
      }
    }
  }
}

/// Small whole numbers, whose sums are exact.
Bytes halves(std::mt19937_64& random, std::size_t count) {
  Bytes bytes(2 * count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = static_cast<std::uint16_t>(0x3c00 + 0x100 * (random() % 16) + (random() % 2 << 15));
    std::memcpy(bytes.data() + 2 * i, &value, 2);
  }
  return bytes;
}
Bytes singles(std::mt19937_64& random, std::size_t count) {
  Bytes bytes(4 * count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = static_cast<float>(random() % 1000);
    std::memcpy(bytes.data() + 4 * i, &value, 4);
  }
  return bytes;
}

/// A kernel of mutants.ptx: its parameters are the addresses of its buffers, the first of them the output,
/// and then 32-bit scalars.
Work kernel_of_file(const std::string& text, const std::string& entry, const exec::Launch& launch,
                    const std::vector<Bytes>& buffers, const std::vector<std::uint32_t>& scalars = {}) {
  Work work{.name = entry, .text = text, .buffers = {}, .steps = {{.entry = entry, .launch = launch}}};
  std::vector<Work::Argument>& arguments = work.steps[0].arguments;
  for (const Bytes& buffer : buffers) {
    arguments.push_back({.offset = 8 * work.buffers.size(), .buffer = work.buffers.size()});
    const bool is_output = work.buffers.empty();
    work.buffers.push_back({.bytes = buffer, .output = is_output, .defined = !is_output});
  }
  for (std::size_t i = 0; i < scalars.size(); ++i) {
    const auto* begin = reinterpret_cast<const std::byte*>(&scalars[i]);
    arguments.push_back({.offset = 8 * buffers.size() + 4 * i, .bytes = Bytes(begin, begin + 4)});
  }
  return work;
}

std::vector<Work> kernels_of_file(std::mt19937_64& random) {
  const std::string text = read_file(test::source_folder() + "/tests/bench/judge/mutants.ptx");
  constexpr std::uint32_t tiles = 5;
  return {kernel_of_file(text, "pipeline", {.block = {160, 1, 1}},
                         {Bytes(2048), halves(random, std::size_t{tiles} * 1024),
                          halves(random, std::size_t{tiles} * 128)},
                         {tiles}),
          kernel_of_file(text, "reduce", {.grid = {3, 1, 1}, .block = {256, 1, 1}},
                         {Bytes(12), singles(random, 768)}),
          kernel_of_file(text, "transpose", {.block = {64, 1, 1}}, {Bytes(8192), singles(random, 2048)})};
}

Work gemm_of(const std::shared_ptr<const Specs>& specs, const Settings& problem, Settings config,
             std::uint64_t seed) {
  const Target target("sm_90a");
  config["strategy"] = "mma";
  const Settings chosen = gemm_template().config(*specs, target, gemm_template().problem(problem), config);
  return work_of(fmt::format("gemm {}, {} stages", problem.at("a"), chosen.at("stages")), specs, target,
                 gemm_template(), problem, chosen, seed);
}

void print_table(const std::map<std::string, Tally>& tallies) {
  fmt::print("{:<32} mutants  faults  of them right and silent unjudged  wrong result  unnoticed  codes\n",
             "");
  Tally all;
  const auto print_row = [](const std::string& kind, const Tally& tally) {
    std::string codes;
    for (const auto& [code, count] : tally.codes) codes += fmt::format(" {} {}", code, count);
    fmt::print("{:<32} {:>7} {:>7} {:>34} {:>13} {:>10} {}\n", kind, tally.mutants, tally.faults,
               tally.only_judged, tally.wrong, tally.unnoticed, codes);
  };
  for (const auto& [kind, tally] : tallies) {
    print_row(kind, tally);
    all.mutants += tally.mutants;
    all.faults += tally.faults;
    all.only_judged += tally.only_judged;
    all.wrong += tally.wrong;
    all.unnoticed += tally.unnoticed;
  }
  print_row("all", all);
}

Options options_of(int count, char** words) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    if (word == "--list") {
      options.list = true;
    } else if ((word == "--seed" || word == "--most") && i + 1 < count) {
      (word == "--seed" ? options.seed : options.most) = std::stoull(words[++i]);
    } else {
      throw std::runtime_error("usage: judge_mutants [--list] [--seed N] [--most N]");
    }
  }
  return options;
}

}  // namespace

int main(int count, char** words) try {
  const Options options = options_of(count, words);
  std::mt19937_64 random(options.seed);
  const auto specs = std::make_shared<const Specs>();
  fmt::print("seed {}\n", options.seed);
  std::vector<Work> works = kernels_of_file(random);
  for (const auto& [problem, config] :
       {std::pair<Settings, Settings>{
            {{"m", "33"}, {"n", "40"}, {"k", "200"}, {"a", "bf16"}},
            {{"tile_m", "32"}, {"tile_n", "32"}, {"tile_k", "32"}, {"stages", "2"}}},
        {{{"m", "64"}, {"n", "64"}, {"k", "200"}, {"a", "f16"}, {"d", "f16"}},
         {{"tile_m", "64"}, {"tile_n", "64"}, {"tile_k", "32"}, {"stages", "4"}, {"epilogue", "staged"}}},
        {{{"m", "20"}, {"n", "36"}, {"k", "420"}, {"a", "s8"}, {"b_layout", "row"}}, {{"stages", "3"}}}})
    works.push_back(gemm_of(specs, problem, config, random()));
  std::map<std::string, Tally> tallies;
  for (const Work& work : works) try_all(work, specs, options, random, tallies);
  print_table(tallies);
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}
