// SPDX-License-Identifier: Apache-2.0
// Whether the judge notices each fence, wait, arrival, commit and barrier that a kernel lacks: they are taken
// out of correct kernels one at a time, and each mutant runs in the executor in several orders of warps.
// Kernels are those of the templates, and those in folders with a launch.json (tests/foreign). Instructions
// that never run stay. What is found in a kernel as it stands says nothing of its mutants.
//   sync_mutants [--only WORD] [--folder PATH] [--schedules N] [--seed N] [--jobs N] [--list | --emit]
// `--emit`: the PTX of the kernels, and nothing else; `--folder PATH`: also the kernels in its folders;
// `--schedules N`: orders of warps (default 4); `--list`: all mutants and what is found. What nothing finds
// is listed always, unless redundant.json says why the kernel does not need it. Exit code 1 if something is
// left, or redundant.json is wrong.
#include <fmt/format.h>
#include <fnmatch.h>

#include <atomic>
#include <random>
#include <regex>
#include <set>
#include <thread>
#include <tuple>

#include "bench/judge/mutant_work.hpp"
#include "bench/judge/sync_kernels.hpp"
#include "ptxloom/templates.hpp"
#include "support/folders.hpp"

using namespace ptxloom;
using namespace ptxloom::bench;

namespace {

struct Options {
  std::string only;
  std::filesystem::path folder;
  std::uint64_t schedules = 4, seed = std::random_device{}();
  unsigned jobs = 1;
  bool list = false, emit = false;
};

/// One instruction, and the text without it.
struct Mutant {
  std::string kind;         ///< its opcode, without types and spaces
  std::string instruction;  ///< as it stands, with all registers named %
  int place = 1;            ///< among those of the kernel that look the same
  std::size_t line = 0;
  std::string text;
};

struct Result {
  enum class End { found, wrong, unnoticed } end = End::unnoticed;
  std::string code;            ///< of the first finding
  std::uint64_t schedule = 0;  ///< in which it was found
};

/// Instructions whose only purpose is an order, with what goes in their place; the first match counts.
struct Rule {
  std::regex pattern;
  const char* replacement;
};
const std::vector<Rule>& rules() {
  static const std::vector<Rule> all = {
      // What a test would have found: the phase is over.
      {std::regex(R"((@!?\S+\s+)?mbarrier\.(?:try_wait|test_wait)\S*\s+([%\w$]+),.*)"),
       "$1setp.eq.u32 $2, 0, 0;"},
      {std::regex(R"((@!?\S+\s+)?(?:bar|barrier|mbarrier|membar|griddepcontrol)\..*)"), ""},
      {std::regex(R"((@!?\S+\s+)?fence\..*)"), ""},
      {std::regex(R"((@!?\S+\s+)?cp\.async\.(?:bulk\.)?(?:commit_group|wait_group|wait_all|mbarrier)\b.*)"),
       ""},
      {std::regex(R"((@!?\S+\s+)?wgmma\.(?:fence|commit_group|wait_group)\..*)"), ""},
      {std::regex(R"((@!?\S+\s+)?((?:ld|st|atom|red)(?:\.[\w:]+)*?)\.(?:acquire|release|acq_rel)(\..*))"),
       "$1$2.relaxed$3"},
  };
  return all;
}

std::optional<std::string> without(const std::string& instruction) {
  for (const Rule& rule : rules())
    if (std::regex_match(instruction, rule.pattern))
      return std::regex_replace(instruction, rule.pattern, rule.replacement);
  return std::nullopt;
}

std::string with_unnamed_registers(const std::string& instruction) {
  static const std::regex name(R"(%[A-Za-z_]\w*)"), space(R"(\s+)");
  return std::regex_replace(std::regex_replace(instruction, name, "%"), space, " ");
}

/// "mbarrier.try_wait", "fence.proxy.async", "ld.acquire".
std::string kind_of(const std::string& instruction) {
  static const std::regex opcode(R"((?:@!?\S+\s+)?([a-z][\w.:]*)[^]*)");
  static const std::regex details(
      R"(\.(?:aligned|shared(?:::\w+)*|global|parity|[bufs]\d+|gpu|cta|sys|add|inc|cas|exch)(?=\.|$))");
  return std::regex_replace(std::regex_replace(instruction, opcode, "$1"), details, "");
}

std::vector<Mutant> mutants_of(const Work& work, const ir::Module& module,
                               const std::map<std::size_t, bool>& runs) {
  std::vector<std::size_t> begins{0};
  for (std::size_t at = work.text.find('\n'); at != std::string::npos; at = work.text.find('\n', at + 1))
    begins.push_back(at + 1);
  std::vector<Mutant> mutants;
  std::map<std::string, int> places;
  for (const ir::Function& function : module.functions) {
    for (const ir::Instruction& instruction : function.instructions) {
      const std::size_t at = begins[instruction.line - 1] + instruction.column - 1;
      const std::size_t end = work.text.find(';', at) + 1;
      const std::string old = work.text.substr(at, end - at);
      const auto left = without(old);
      if (!left) continue;
      const std::string unnamed = with_unnamed_registers(old);
      const int place = ++places[unnamed];
      if (!runs.contains(instruction.line)) continue;
      mutants.push_back({.kind = kind_of(old),
                         .instruction = unnamed,
                         .place = place,
                         .line = instruction.line,
                         .text = std::string(work.text).replace(at, end - at, *left)});
    }
  }
  return mutants;
}

/// A finding: its code, and the lines of both sides.
using Key = std::tuple<std::string, int, int>;
Key key_of(const exec::Finding& finding) {
  const int at = finding.at.line, other = finding.other ? finding.other->line : 0;
  return {finding.code, std::min(at, other), std::max(at, other)};
}
/// A kernel as it stands.
struct Original {
  std::vector<exec::InstructionStats> counts = {};
  std::vector<Bytes> outputs = {};  ///< empty: they vary
  std::set<Key> known = {};         ///< what is found in it
};

Result judge(const Work& work, const Mutant& mutant, const Original& original,
             const std::shared_ptr<const Specs>& specs, const std::vector<std::uint64_t>& schedules) {
  const ParseResult parsed = parse(mutant.text, specs);
  if (!parsed.ok())
    throw std::runtime_error(fmt::format("{}, line {}: the text without it is illegal: {}", work.name,
                                         mutant.line, parsed.diagnostics.at(0).message));
  Result result;
  for (const std::uint64_t schedule : schedules) {
    exec::Findings findings;
    const Outcome outcome = run(work, parsed.module, {.findings = &findings, .schedule = schedule});
    std::vector<exec::Finding> all = findings.all();
    std::erase_if(all,
                  [&](const exec::Finding& finding) { return original.known.contains(key_of(finding)); });
    if (!all.empty() || !outcome.code.empty())
      return {Result::End::found, all.empty() ? outcome.code : all.front().code, schedule};
    if (!original.outputs.empty() && outcome.outputs != original.outputs) result.end = Result::End::wrong;
  }
  return result;
}

/// What redundant.json says is not needed.
class Redundant {
 public:
  explicit Redundant(const std::filesystem::path& file)
      : entries_(nlohmann::json::parse(std::ifstream(file))), used_(entries_.size()) {}

  /// The reason why the kernel does not need the instruction; empty: there is none.
  std::string find(const std::string& kernel, const Mutant& mutant) {
    kernels_.insert(kernel);
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const auto& entry = entries_[i];
      if (entry.at("instruction") != mutant.instruction || !matches(entry.at("kernels"), kernel)) continue;
      if (entry.contains("places") && !contains(entry.at("places"), mutant.place)) continue;
      used_[i] = true;
      return entry.at("why");
    }
    return {};
  }
  /// Entries for these kernels that no mutant needed.
  std::vector<std::string> unused() const {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const bool was_here = std::ranges::any_of(
          kernels_, [&](const std::string& kernel) { return matches(entries_[i].at("kernels"), kernel); });
      if (was_here && !used_[i]) all.push_back(entries_[i].dump());
    }
    return all;
  }

 private:
  static bool matches(const nlohmann::json& patterns, const std::string& kernel) {
    return std::ranges::any_of(patterns, [&](const auto& pattern) {
      return fnmatch(pattern.template get<std::string>().c_str(), kernel.c_str(), 0) == 0;
    });
  }
  static bool contains(const nlohmann::json& places, int place) {
    return std::ranges::find(places, nlohmann::json(place)) != places.end();
  }

  nlohmann::json entries_;
  std::vector<bool> used_;
  std::set<std::string> kernels_;
};

struct Tally {
  int mutants = 0, found = 0, redundant = 0, wrong = 0, unnoticed = 0;
  std::map<std::string, int> codes;

  void add(const Tally& more) {
    mutants += more.mutants;
    found += more.found;
    redundant += more.redundant;
    wrong += more.wrong;
    unnoticed += more.unnoticed;
  }
};

class Hunt {
 public:
  Hunt(const Options& options, Redundant& redundant) : options_(options), redundant_(redundant) {
    std::mt19937_64 random(options.seed);
    for (std::uint64_t i = 1; i < options.schedules; ++i) schedules_.push_back(random() | 1);
  }

  void add(const Work& work);
  /// Whether everything is found or redundant, and nothing that is found is said to be redundant.
  bool report() const;

 private:
  bool run_itself(const Work& work, const ir::Module& module, Original& original);
  void count(const Work& work, const Mutant& mutant, const Result& result);

  const Options& options_;
  Redundant& redundant_;
  std::shared_ptr<const Specs> specs_ = std::make_shared<const Specs>();
  std::vector<std::uint64_t> schedules_{0};
  std::map<std::string, Tally> kinds_, kernels_;
  bool clean_ = true;
};

// Runs the kernel as it stands; false if it cannot be judged.
bool Hunt::run_itself(const Work& work, const ir::Module& module, Original& original) {
  bool results_vary = false;  // sums of floats by atomic operations
  for (const std::uint64_t schedule : schedules_) {
    exec::Findings findings;
    const Outcome outcome =
        run(work, module, {.findings = &findings, .schedule = schedule, .counts = &original.counts});
    for (const exec::Finding& finding : findings.all()) {
      if (original.known.insert(key_of(finding)).second)
        fmt::print("{}: the kernel itself: {} at line {}: {}\n", work.name, finding.code, finding.at.line,
                   finding.what);
      clean_ &= !options_.folder.empty() || finding.code == "proxy-fence-before-refill";
      if (finding.fatal) return false;  // most of it does not run
    }
    if (!outcome.code.empty()) throw std::runtime_error(work.name + ": " + outcome.code);
    results_vary |= schedule != 0 && outcome.outputs != original.outputs;
    original.outputs = outcome.outputs;
  }
  if (results_vary) original.outputs.clear();
  return true;
}

void Hunt::add(const Work& work) {
  const ParseResult parsed = parse(work.text, specs_);
  if (!parsed.ok()) throw std::runtime_error(work.name + ": " + parsed.diagnostics.at(0).message);
  Original original;
  if (!run_itself(work, parsed.module, original)) return;
  const std::vector<Mutant> mutants = mutants_of(work, parsed.module, lines_that_run(original.counts));
  std::vector<Result> results(mutants.size());
  std::atomic<std::size_t> next = 0;
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < options_.jobs; ++i)
      threads.emplace_back([&] {
        for (std::size_t at; (at = next++) < mutants.size();)
          results[at] = judge(work, mutants[at], original, specs_, schedules_);
      });
  }
  for (std::size_t i = 0; i < mutants.size(); ++i) count(work, mutants[i], results[i]);
  std::fflush(stdout);
}

void Hunt::count(const Work& work, const Mutant& mutant, const Result& result) {
  const std::string why = redundant_.find(work.name, mutant);
  const std::string place =
      fmt::format("{}, line {} (place {}): {}", work.name, mutant.line, mutant.place, mutant.instruction);
  Tally tally{.mutants = 1};
  if (result.end == Result::End::found) {
    tally.found = 1;
    ++kinds_[mutant.kind].codes[result.code];
    if (options_.list) fmt::print("{}: {}\n", result.code, place);
    if (!why.empty())
      fmt::print("not redundant: {}: {} in schedule {}\n", place, result.code, result.schedule);
    clean_ &= why.empty();
  } else if (!why.empty()) {
    tally.redundant = 1;
    if (options_.list) fmt::print("redundant: {}: {}\n", place, why);
  } else {
    const bool wrong = result.end == Result::End::wrong;
    ++(wrong ? tally.wrong : tally.unnoticed);
    fmt::print("{}: {}\n", wrong ? "wrong result" : "unnoticed", place);
    clean_ = false;
  }
  kinds_[mutant.kind].add(tally);
  kernels_[work.name].add(tally);
}

bool Hunt::report() const {
  Tally all;
  const auto print_rows = [&](const char* title, const std::map<std::string, Tally>& tallies) {
    fmt::print("\n{:<44} mutants  found  redundant  wrong  unnoticed\n", title);
    all = {};
    for (const auto& [name, tally] : tallies) {
      std::string codes;
      for (const auto& [code, count] : tally.codes) codes += fmt::format(" {} {}", code, count);
      fmt::print("{:<44} {:>7} {:>6} {:>10} {:>6} {:>10} {}\n", name, tally.mutants, tally.found,
                 tally.redundant, tally.wrong, tally.unnoticed, codes);
      all.add(tally);
    }
    fmt::print("{:<44} {:>7} {:>6} {:>10} {:>6} {:>10}\n", "all", all.mutants, all.found, all.redundant,
               all.wrong, all.unnoticed);
  };
  print_rows("kernel", kernels_);
  print_rows("instruction", kinds_);
  fmt::print("{:.2f} % are found or redundant\n",
             100.0 * (all.found + all.redundant) / std::max(all.mutants, 1));
  return clean_;
}

constexpr const char* kUsage =
    "usage: sync_mutants [--only WORD] [--folder PATH] [--schedules N] [--seed N] [--jobs N] [--list | "
    "--emit]";

Options options_of(int count, char** words) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    if (word == "--list") {
      options.list = true;
      continue;
    }
    if (word == "--emit") {
      options.emit = true;
      continue;
    }
    if (++i == count) throw std::runtime_error(kUsage);
    const std::string value = words[i];
    if (word == "--only") {
      options.only = value;
    } else if (word == "--folder") {
      options.folder = value;
    } else if (word == "--schedules") {
      options.schedules = std::stoull(value);
    } else if (word == "--seed") {
      options.seed = std::stoull(value);
    } else if (word == "--jobs") {
      options.jobs = std::max(1U, static_cast<unsigned>(std::stoul(value)));
    } else {
      throw std::runtime_error(kUsage);
    }
  }
  return options;
}

std::vector<Work> works_of(const Options& options) {
  const auto specs = std::make_shared<const Specs>();
  const Templates templates;
  std::vector<Work> works;
  for (const SyncKernel& kernel : kSyncKernels) {
    const std::string name = fmt::format("{}, {}", kernel.kernel_template, kernel.name);
    if (name.find(options.only) == std::string::npos) continue;
    works.push_back(work_of(name, specs, Target(kernel.target), templates.find(kernel.kernel_template),
                            settings_of(kernel.problem), settings_of(kernel.config), options.seed));
  }
  if (options.folder.empty()) return works;
  std::set<std::filesystem::path> folders;
  for (const auto& entry : std::filesystem::directory_iterator(options.folder))
    if (std::filesystem::exists(entry.path() / "launch.json")) folders.insert(entry.path());
  for (const std::filesystem::path& folder : folders) {
    Work work = work_in(folder);
    if (work.name.find(options.only) != std::string::npos) works.push_back(std::move(work));
  }
  return works;
}

}  // namespace

int main(int count, char** words) try {
  const Options options = options_of(count, words);
  if (options.emit) {
    for (const Work& work : works_of(options)) fmt::print("{}", work.text);
    return 0;
  }
  fmt::print("seed {}\n", options.seed);
  Redundant redundant(test::source_folder() + "/tests/bench/judge/redundant.json");
  Hunt hunt(options, redundant);
  for (const Work& work : works_of(options)) hunt.add(work);
  const bool clean = hunt.report();
  const std::vector<std::string> unused = redundant.unused();
  for (const std::string& entry : unused) fmt::print("of no use in redundant.json: {}\n", entry);
  return clean && unused.empty() ? 0 : 1;
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}
