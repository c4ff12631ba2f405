// SPDX-License-Identifier: Apache-2.0
// What the CPU executor notices of broken kernels: correct ones (gemm in several configurations, those of
// mutants.ptx) are broken in one place at a time and run. Noticed is a mutant that ends in a fault, or whose
// outputs are not those of the kernel, bit by bit. Only lines that
// run are broken. `--list` names the mutants that nothing notices: they are to be looked at by hand, for many
// do the same in every order that PTX allows. `--seed N` repeats a run, `--most N` is how many mutants of a
// kind a kernel gives.
#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <map>
#include <random>
#include <regex>
#include <stdexcept>

#include "base/file.hpp"
#include "bench.hpp"
#include "ptxloom/error.hpp"
#include "ptxloom/exec.hpp"
#include "support/folders.hpp"

using namespace ptxloom;
using namespace ptxloom::bench;

namespace {

using Bytes = std::vector<std::byte>;

/// A kernel that runs: arguments are buffers, the first of them the output, then 32-bit scalars.
struct Work {
  std::string name, text, entry;
  exec::Launch launch;
  std::vector<Bytes> buffers;
  struct Argument {
    std::optional<std::size_t> buffer;
    std::uint64_t bits = 0;
    std::size_t bytes = 8;
  };
  std::vector<Argument> arguments;
};

struct Outcome {
  std::string code;  ///< of the fault, or "illegal"; empty where it ran
  Bytes output;
};

Outcome run(const Work& work, const std::string& text, const std::shared_ptr<const Specs>& specs, bool judge,
            exec::Stats* stats = nullptr) {
  ParseResult parsed = parse(text, specs);
  if (!parsed.ok()) return {.code = "illegal", .output = {}};
  exec::Memory memory;
  std::vector<Bytes> buffers = work.buffers;
  Bytes parameters;
  for (const Work::Argument& argument : work.arguments) {
    std::uint64_t bits = argument.bits;
    if (argument.buffer)
      bits = memory.map(buffers[*argument.buffer].data(), buffers[*argument.buffer].size());
    parameters.resize((parameters.size() + argument.bytes - 1) / argument.bytes * argument.bytes);
    const auto* begin = reinterpret_cast<const std::byte*>(&bits);
    parameters.insert(parameters.end(), begin, begin + argument.bytes);
  }
  exec::Launch launch = work.launch;
  launch.parameters = parameters;
  launch.jobs = 1;
  launch.judge = judge;
  launch.step_limit = 200'000;
  try {
    exec::Program(parsed.module, work.entry).run(memory, launch, stats);
  } catch (const Error& error) {
    return {.code = error.diagnostics().at(0).code, .output = {}};
  }
  return {.code = {}, .output = buffers[0]};
}

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

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

/// Lines whose instruction some thread executes, and whether there is a guard to it that ever stops one: what
/// does not run, and guards that are always true, cannot be broken.
std::map<std::size_t, bool> lines_that_run(const exec::Stats& stats) {
  std::map<std::size_t, bool> lines;
  for (const exec::InstructionStats& each : stats.instructions)
    if (each.lanes != 0) lines[each.line] = each.lanes < 32 * each.executed;
  return lines;
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
  const std::uint32_t threads = work.launch.block[0];
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
  exec::Stats stats;
  const Outcome original = run(work, work.text, specs, true, &stats);
  if (!original.code.empty()) throw std::runtime_error(work.name + " is at fault itself: " + original.code);
  std::map<std::string, std::vector<Mutant>> by_kind;
  for (Mutant& mutant : mutants_of(work, lines_that_run(stats)))
    by_kind[mutant.kind].push_back(std::move(mutant));
  for (auto& [kind, mutants] : by_kind) {
    std::ranges::shuffle(mutants, random);
    if (mutants.size() > options.most) mutants.resize(options.most);
    for (const Mutant& mutant : mutants) {
      Work changed = work;
      if (mutant.threads != 0) changed.launch.block[0] = mutant.threads;
      const Outcome outcome = run(changed, mutant.text, specs, true);
      if (outcome.code == "illegal") continue;
      Tally& tally = tallies[kind];
      ++tally.mutants;
      if (!outcome.code.empty()) {
        ++tally.faults;
        ++tally.codes[outcome.code];
        const Outcome unjudged = run(changed, mutant.text, specs, false);
        if (unjudged.code.empty() && unjudged.output == original.output) ++tally.only_judged;
      } else if (outcome.output != original.output) {
        ++tally.wrong;
      } else {
        ++tally.unnoticed;
        if (options.list) fmt::print("unnoticed: {}: {}: {}\n", work.name, kind, mutant.place);
      }
    }
  }
}

Bytes poison(std::size_t bytes) { return Bytes(bytes, kPoison); }

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

std::vector<Work> kernels_of_file(std::mt19937_64& random) {
  const std::string text = read_file(test::source_folder() + "/tests/bench/mutants.ptx");
  constexpr std::size_t tiles = 5;
  return {{.name = "pipeline",
           .text = text,
           .entry = "pipeline",
           .launch = {.block = {160, 1, 1}},
           .buffers = {poison(2048), halves(random, tiles * 1024), halves(random, tiles * 128)},
           .arguments = {{.buffer = 0}, {.buffer = 1}, {.buffer = 2}, {.bits = tiles, .bytes = 4}}},
          {.name = "reduce",
           .text = text,
           .entry = "reduce",
           .launch = {.grid = {3, 1, 1}, .block = {256, 1, 1}},
           .buffers = {poison(12), singles(random, 768)},
           .arguments = {{.buffer = 0}, {.buffer = 1}}},
          {.name = "transpose",
           .text = text,
           .entry = "transpose",
           .launch = {.block = {64, 1, 1}},
           .buffers = {poison(8192), singles(random, 2048)},
           .arguments = {{.buffer = 0}, {.buffer = 1}}}};
}

Work gemm_of(const std::shared_ptr<const Specs>& specs, const Settings& problem, const Settings& config,
             std::uint64_t seed) {
  const Target target("sm_90a");
  const Template& gemm = gemm_template();
  const Settings whole = gemm.problem(problem);
  Settings fixed = config;
  fixed["strategy"] = "mma";  // its parameters are plain pointers
  const Settings chosen = gemm.config(*specs, target, whole, fixed);
  const Emitted emitted = gemm.emit(specs, target, whole, chosen);
  Work work{.name = fmt::format("gemm {}, {} stages", problem.at("a"), chosen.at("stages")),
            .text = print(emitted.module),
            .entry = emitted.launches.front().entry,
            .launch = {.grid = emitted.launches.front().grid,
                       .block = emitted.launches.front().block,
                       .cluster = emitted.launches.front().cluster,
                       .shared_bytes = emitted.launches.front().shared_bytes}};
  std::map<std::string, std::size_t> index;
  auto tensors = gemm.tensors(whole);
  std::ranges::stable_partition(tensors, [](const TensorPlan& t) { return t.role == TensorPlan::Role::out; });
  for (const TensorPlan& tensor : tensors) {
    index[tensor.name] = work.buffers.size();
    const bool out = tensor.role == TensorPlan::Role::out;
    work.buffers.push_back(out ? poison(tensor.bytes()) : random_tensor(tensor, seed).bytes);
  }
  for (const ArgumentPlan& argument : emitted.launches.front().arguments) {
    Work::Argument made{.bits = argument.bits, .bytes = static_cast<std::size_t>(argument.type.bytes())};
    if (const auto tensor = index.find(argument.tensor); tensor != index.end()) made.buffer = tensor->second;
    work.arguments.push_back(made);
  }
  return work;
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
