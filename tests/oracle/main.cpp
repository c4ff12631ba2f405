// SPDX-License-Identifier: Apache-2.0
// The specs against ptxas. Exit 0: no disagreement; 1: some; 2: bad usage; 77: no ptxas, nothing was checked.
#include <array>
#include <chrono>
#include <cstdio>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <thread>

#include "base/file.hpp"
#include "base/hash.hpp"
#include "oracle/compare.hpp"
#include "oracle/forms.hpp"
#include "support/components.hpp"
#include "support/folders.hpp"

namespace ptxloom::oracle {
namespace {

constexpr int kSkip = 77;

std::filesystem::path file_of_test(const char* name) {
  return test::source_folder() + "/tests/oracle/" + name;
}

/// A seed that follows from specs/: each change of them draws anew, and a checkout is judged the same every
/// time.
unsigned seed_of_specs() {
  std::map<std::string, std::string> texts;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(test::source_folder() + "/specs"))
    if (entry.path().extension() == ".json") texts[entry.path().string()] = read_file(entry.path());
  std::string all;
  for (const auto& [path, text] : texts) all += text;
  return static_cast<unsigned>(hash128(all).low % 1'000'000'000);
}

struct Arguments {
  FormsOptions forms{.options = {},
                     .form = {},
                     .jobs = std::max(1U, std::thread::hardware_concurrency()),
                     .foreign = file_of_test("foreign_words.txt"),
                     .unread = file_of_test("unread_words.txt"),
                     .stricter = file_of_test("stricter.txt"),
                     .records = {}};
  std::filesystem::path golden = test::source_folder() + "/tests/golden/variant_counts.txt";
  std::filesystem::path memory = file_of_test("verdicts.bin");
  std::vector<std::filesystem::path> overlays;
  std::optional<unsigned> seed;
  unsigned draw = seed_of_specs();
  bool bless = false;
  bool no_counts = false;
  bool with_uses = false;
  bool digest = false;  // prints the digest of the form, and checks nothing
  bool list = false;    // prints the names of the chosen forms, and checks nothing
  bool daily = false;   // a tenth of the forms, drawn with a seed that follows from specs/
  bool learn = false;   // writes what ptxas says of the sample of seed 1
  bool ask = false;     // ptxas is asked everything, whatever the memory knows
  std::string toolkit;  // whose ptxas in build/toolkits is asked; "": the one that is installed
  std::array<std::string, 2> compared;  // toolkits whose ptxas are compared with each other; or none

  bool uses() const { return with_uses || (forms.form.empty() && !no_counts); }
  /// Whether limits are known for what is left unjudged.
  bool limited() const {
    return forms.form.empty() && !forms.differing && !forms.options.all && !forms.options.variants &&
           !forms.since && overlays.empty();
  }
};

int usage() {
  std::cerr
      << "usage: test_oracle [FORM] [OPTION...]\n"
         "  --all          every variant, version and neighbour; else large forms are sampled\n"
         "  --variants     every variant, on the lowest target that has it and at one more place, drawn at "
         "random; no neighbour\n"
         "  --seed N       of the sample; by default a new one\n"
         "  --tenth        a tenth of the forms, drawn by the seed\n"
         "  --differing    the forms that are not the same in all releases of CUDA\n"
         "  --since V      the forms that need this PTX version or a later one\n"
         "  --list         prints the names of the forms that would be asked about, and checks nothing\n"
         "  --daily        a tenth of the forms, drawn with a seed that follows from specs/\n"
         "  --learn        the sample of seed 1, and ptxas's verdicts on it to tests/oracle/verdicts.bin: of "
         "what the\n                 file knows a tenth is asked again; with --ask all\n"
         "  --draw N       instead of it: the seed of that tenth, and of what ptxas must repeat\n"
         "  --ask          ptxas is asked everything, whatever verdicts.bin knows\n"
         "  --toolkit V    ptxas of this release of CUDA (13.5), or of the newest that is in build/toolkits\n"
         "  --compare V W  ptxas of two releases with each other, by form and target; says nothing of the "
         "specs\n"
         "  --form NAME    one form, without the counts; with --uses the instructions of real code too\n"
         "  --jobs N, --show N  threads; disagreements shown of each form\n"
         "  --specs DIR    an overlay\n"
         "  --no-counts    only what ptxas is asked, not what needs none\n"
         "  --until-first  stops at the first disagreement\n"
         "  --digest       prints a number for all that the form says, for mutate.py\n"
         "  --records FILE keeps the outcome of each piece of work; a run that was stopped goes on from "
         "there\n"
         "  --bless        writes tests/golden/variant_counts.txt and, of a run over all forms, "
         "tests/oracle/foreign_words.txt anew\n";
  return 2;
}

bool parse(int argc, char** argv, Arguments& arguments) {
  FormsOptions& forms = arguments.forms;
  const auto number = [](auto& to) {
    return [&to](const char* text) { to = static_cast<unsigned>(std::stoul(text)); };
  };
  const std::map<std::string_view, bool*> flags{
      {"--all", &forms.options.all},     {"--bless", &arguments.bless},
      {"--uses", &arguments.with_uses},  {"--until-first", &forms.options.until_first},
      {"--digest", &arguments.digest},   {"--no-counts", &arguments.no_counts},
      {"--tenth", &forms.tenth},         {"--daily", &arguments.daily},
      {"--learn", &arguments.learn},     {"--variants", &forms.options.variants},
      {"--differing", &forms.differing}, {"--list", &arguments.list},
  };
  const std::map<std::string_view, std::function<void(const char*)>> values{
      {"--seed", number(arguments.seed)},
      {"--draw", number(arguments.draw)},
      {"--jobs", number(forms.jobs)},
      {"--show", number(forms.options.shown)},
      {"--form", [&](const char* text) { forms.form = text; }},
      {"--since", [&](const char* text) { forms.since = parse_version(text); }},
      {"--toolkit", [&](const char* text) { arguments.toolkit = text; }},
      {"--records", [&](const char* text) { forms.records = text; }},
      {"--specs", [&](const char* text) { arguments.overlays.emplace_back(text); }},
  };
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (const auto flag = flags.find(word); flag != flags.end()) {
      *flag->second = true;
    } else if (const auto value = values.find(word); value != values.end() && i + 1 < argc) {
      value->second(argv[++i]);
    } else if (word == "--compare" && i + 2 < argc) {
      for (std::string& toolkit : arguments.compared) toolkit = argv[++i];
    } else if (word == "--ask") {
      arguments.ask = true;
    } else if (!word.starts_with("--")) {
      forms.form = word;
    } else {
      return false;
    }
  }
  if (arguments.daily) {
    if (arguments.seed || arguments.learn) return false;
    forms.tenth = true;
    arguments.seed = arguments.draw;
  }
  if (forms.tenth || arguments.learn) forms.options.all = forms.options.variants = false;  // of a sample
  if (forms.options.variants) forms.options.all = false;
  if (arguments.learn && (arguments.seed.value_or(1) != 1 || !forms.form.empty() || forms.tenth))
    return false;
  const auto clock = std::chrono::system_clock::now().time_since_epoch().count();
  forms.options.seed = arguments.learn ? 1 : arguments.seed.value_or(static_cast<unsigned>(clock));
  forms.options.alone = !forms.form.empty();
  forms.memory.seed = arguments.draw;
  return true;
}

template <class Work>
Outcome timed(std::string_view what, std::size_t shown, Work work) {
  const auto start = std::chrono::steady_clock::now();
  Outcome outcome = work();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  print(what, outcome, seconds.count(), shown);
  return outcome;
}

/// What is checked without ptxas.
Outcome check_ourselves(const Arguments& arguments, const std::shared_ptr<const Specs>& specs) {
  const std::size_t shown = arguments.forms.options.shown;
  Outcome total;
  if (!arguments.no_counts && arguments.forms.form.empty()) {
    total.add(
        timed("counts", shown, [&] { return check_counts(*specs, arguments.golden, arguments.bless); }));
    total.add(timed("the manual's list", shown, [&] {
      return check_manual(*specs, test::source_folder() + "/tests/golden/manual_instructions.txt");
    }));
  }
  if (arguments.uses()) {
    for (const char* file : {"real_uses.txt", "header_uses.txt"})
      total.add(timed(file, shown, [&] { return check_uses(arguments.overlays, file_of_test(file)); }));
  }
  return total;
}

/// The verdicts to start from; null where there are none of this ptxas.
std::unique_ptr<const Verdicts> recall(const Arguments& arguments, const std::string& assembler) {
  if (arguments.ask) return nullptr;
  auto known = std::make_unique<const Verdicts>(arguments.memory, assembler);
  if (known->has_assembler()) {
    std::printf("memory: verdicts on %zu lines; a tenth of what is used is proven again, seed %u\n",
                known->lines(), arguments.forms.memory.seed);
    return known;
  }
  std::printf("memory: unused, for %s has no verdicts of this ptxas\n", arguments.memory.c_str());
  return nullptr;
}

/// The forms against ptxas, and what that came to. `repeat`: the command that does it again.
Outcome check_forms(const FormsOptions& options, const Arguments& arguments,
                    const std::shared_ptr<const Specs>& specs, const std::filesystem::path& ptxas,
                    const std::string& repeat) {
  std::printf("%s: seed %u\n", options.tenth ? "a tenth of the forms" : "forms", options.options.seed);
  std::fflush(stdout);
  FormsCheck forms(specs, options, ptxas);
  Outcome total = forms.run();
  if (arguments.bless && options.form.empty() && !options.differing && !options.since) forms.bless();
  std::cout << "total: " << total.lines << " lines, " << total.cases << " cases, "
            << total.disagreements.size() << " disagreements, " << total.foreign
            << " words that ptxas does not look at, " << total.unjudged << " cases that ptxas crashes on, "
            << total.stricter << " that we refuse on purpose, " << total.expanded
            << " where it refuses what it made of the line, " << total.barren
            << " forms of which it takes nothing\n"
            << "answers: " << total.recalled.known << " known, " << total.recalled.proven
            << " of them proven again (" << total.recalled.wrong.size() << " wrong, "
            << total.recalled.unproven << " without an answer), " << total.recalled.asked << " asked\n";
  if (arguments.limited()) {
    for (std::string& text :
         beyond_limits(total, file_of_test("limits.txt"), options.tenth, options.assembler)) {
      std::cout << text << '\n';
      total.disagreements.push_back(std::move(text));
    }
  }
  if (!total.disagreements.empty())
    std::cout << "seed " << options.options.seed << ": again with " << repeat << '\n';
  std::cout.flush();
  return total;
}

int print_digest(const Arguments& arguments) {
  const Specs specs(arguments.overlays);
  const spec::FormData* const form = specs.database().find_form(arguments.forms.form);
  if (form == nullptr) return usage();
  std::cout << digest(specs, *form) << '\n';
  return 0;
}

int print_list(const Arguments& arguments) {
  const Specs specs(arguments.overlays);
  for (const spec::FormData* const form : chosen_forms(specs, arguments.forms))
    std::cout << form->name << '\n';
  return 0;
}

int without_ptxas(const std::string& toolkit, const Outcome& total) {
  const bool required = test::requires_component("ptxas");
  std::cout << (required ? "PTXLOOM_REQUIRE names ptxas, but" : "SKIP:") << " there is no ptxas: none "
            << (toolkit.empty() || toolkit == "newest"
                    ? "in PTXLOOM_PTXAS, on PATH, or in /usr/local/cuda/bin"
                    : "of CUDA " + toolkit + " in build/toolkits; ./dev oracle --toolkit " + toolkit +
                          " fetches it")
            << '\n';
  return total.disagreements.empty() && !required ? kSkip : 1;
}

/// Says which ptxas is asked, and how it stands to what specs/targets.json knows.
void print_assembler(const std::filesystem::path& ptxas, const std::optional<Version>& release) {
  std::printf("ptxas: %s", ptxas.c_str());
  if (!release) {
    std::printf(", of an unknown release of CUDA\n");
    return;
  }
  const ToolkitInfo* const toolkit = find_toolkit(*release);
  const std::string ptx = toolkit == nullptr ? "none that the specs know" : to_string(toolkit->ptx);
  std::printf(", of CUDA %s; PTX up to %s\n", to_string(*release).c_str(), ptx.c_str());
  if (*release > toolkits().back().cuda)
    std::printf(
        "it is newer than specs/targets.json, which ends at CUDA %s: what is new in it is not asked\n",
        to_string(toolkits().back().cuda).c_str());
}

/// Exit code 0: the comparison was made, whatever it found.
int compare(const Arguments& arguments) {
  CompareOptions options{.forms = arguments.forms, .assemblers = {}};
  std::vector<Verdicts> known;
  known.reserve(options.assemblers.size());
  for (std::size_t i = 0; i < options.assemblers.size(); ++i) {
    const auto ptxas = find_ptxas(arguments.compared[i]);
    if (!ptxas) return without_ptxas(arguments.compared[i], {});
    const std::string version = version_of(*ptxas);
    const std::optional<Version> release = release_of(version);
    const ToolkitInfo* const toolkit = release ? find_toolkit(*release) : nullptr;
    if (toolkit == nullptr)
      throw std::runtime_error(ptxas->string() + " is of no release that the specs know");
    print_assembler(*ptxas, release);
    known.emplace_back(arguments.ask ? std::filesystem::path() : arguments.memory, version);
    options.assemblers[i] = {*ptxas, *release, toolkit, &known.back()};
  }
  if (options.assemblers[1].release < options.assemblers[0].release)
    std::swap(options.assemblers[0], options.assemblers[1]);
  const std::size_t lines = compare_assemblers(std::make_shared<const Specs>(arguments.overlays), options);
  std::printf("\n%zu lines differ; seed %u\n", lines, options.forms.options.seed);
  return 0;
}

int run(const Arguments& arguments) {
  if (arguments.digest) return print_digest(arguments);
  if (arguments.list) return print_list(arguments);
  if (!arguments.compared.front().empty()) return compare(arguments);
  const auto ptxas = find_ptxas(arguments.toolkit);
  const std::string assembler = ptxas ? version_of(*ptxas) : std::string();
  const std::optional<Version> release = release_of(assembler);
  const auto specs = std::make_shared<const Specs>(arguments.overlays, release);
  Outcome total = check_ourselves(arguments, specs);
  if (arguments.forms.options.until_first && !total.disagreements.empty()) return 1;
  if (!ptxas) return without_ptxas(arguments.toolkit, total);
  print_assembler(*ptxas, release);
  const auto known = recall(arguments, assembler);
  VerdictsWriter learned(assembler);
  if (arguments.learn) learned.keep_others(Verdicts(arguments.memory, assembler));
  FormsOptions forms = arguments.forms;
  forms.assembler = release;
  forms.memory.known = known.get();
  forms.memory.learned = arguments.learn ? &learned : nullptr;
  const std::string seed = " --seed " + std::to_string(forms.options.seed);
  const std::string draw = " --draw " + std::to_string(arguments.draw);
  const std::string form = forms.form.empty() ? "" : " " + forms.form;
  total.add(check_forms(forms, arguments, specs, *ptxas,
                        "test_oracle" + form +
                            (arguments.toolkit.empty() ? "" : " --toolkit " + arguments.toolkit) +
                            (forms.options.all        ? " --all"
                             : forms.options.variants ? " --variants"
                                                      : "") +
                            (forms.differing ? " --differing" : "") +
                            (forms.since ? " --since " + to_string(*forms.since) : "") +
                            (forms.tenth ? " --tenth" : "") + seed + draw));
  if (arguments.learn) learned.write(arguments.memory);
  return total.disagreements.empty() ? 0 : 1;
}

}  // namespace
}  // namespace ptxloom::oracle

int main(int argc, char** argv) try {
  ptxloom::oracle::Arguments arguments;
  if (!ptxloom::oracle::parse(argc, argv, arguments)) return ptxloom::oracle::usage();
  return ptxloom::oracle::run(arguments);
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 2;
}
