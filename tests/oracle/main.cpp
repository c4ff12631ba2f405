// SPDX-License-Identifier: Apache-2.0
// The specs against ptxas. Exit 0: no disagreement; 1: some; 2: bad usage; 77: no ptxas, nothing was checked.
#include <chrono>
#include <iostream>
#include <memory>
#include <thread>

#include "oracle/forms.hpp"

namespace ptxloom::oracle {
namespace {

constexpr int kSkip = 77;

struct Arguments {
  FormsOptions forms{.options = {},
                     .form = {},
                     .jobs = std::max(1U, std::thread::hardware_concurrency()),
                     .foreign = PTXLOOM_SOURCE_DIR "/tests/oracle/foreign_words.txt",
                     .unread = PTXLOOM_SOURCE_DIR "/tests/oracle/unread_words.txt",
                     .stricter = PTXLOOM_SOURCE_DIR "/tests/oracle/stricter.txt",
                     .records = {}};
  std::filesystem::path golden = PTXLOOM_SOURCE_DIR "/tests/golden/variant_counts.txt";
  std::vector<std::filesystem::path> overlays;
  bool bless = false;
  bool counts = true;
  bool with_uses = false;
  bool digest = false;  // prints the digest of the form, and checks nothing

  bool uses() const { return with_uses || forms.form.empty(); }
};

int usage() {
  std::cerr << "usage: test_oracle [FORM] [--all] [--seed N] [--form NAME] [--jobs N] [--show N] [--specs "
               "DIR] [--bless]\n"
               "                   [--no-counts] [--uses] [--until-first] [--digest] [--records FILE]\n"
               "  --all    every variant, version and neighbour; else large forms are sampled\n"
               "  --form   one form, without the counts; with --uses the instructions of real code too\n"
               "  --digest prints a number for all that the form says, for mutate.py\n"
               "  --records  keeps the outcome of each piece of work in FILE; a run that was stopped goes on "
               "from there\n"
               "  --bless  writes tests/golden/variant_counts.txt and, of a run over all forms, "
               "tests/oracle/foreign_words.txt anew\n";
  return 2;
}

bool parse(int argc, char** argv, Arguments& arguments) {
  arguments.forms.options.seed =
      static_cast<unsigned>(std::chrono::system_clock::now().time_since_epoch().count());
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const bool last = i + 1 == argc;
    if (word == "--all") {
      arguments.forms.options.all = true;
    } else if (word == "--bless") {
      arguments.bless = true;
    } else if (word == "--until-first") {
      arguments.forms.options.until_first = true;
    } else if (word == "--uses") {
      arguments.with_uses = true;
    } else if (word == "--no-counts") {
      arguments.counts = false;
    } else if (word == "--digest") {
      arguments.digest = true;
    } else if (!word.starts_with("--")) {
      arguments.forms.form = word;
    } else if (last) {
      return false;
    } else if (word == "--seed") {
      arguments.forms.options.seed = static_cast<unsigned>(std::stoul(argv[++i]));
    } else if (word == "--form") {
      arguments.forms.form = argv[++i];
    } else if (word == "--jobs") {
      arguments.forms.jobs = static_cast<unsigned>(std::stoul(argv[++i]));
    } else if (word == "--show") {
      arguments.forms.options.shown = std::stoul(argv[++i]);
    } else if (word == "--records") {
      arguments.forms.records = argv[++i];
    } else if (word == "--specs") {
      arguments.overlays.emplace_back(argv[++i]);
    } else {
      return false;
    }
  }
  arguments.forms.options.alone = !arguments.forms.form.empty();
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

int run(const Arguments& arguments) {
  const auto specs = std::make_shared<const Specs>(arguments.overlays);
  if (arguments.digest) {
    const spec::FormData* const form = specs->database().find_form(arguments.forms.form);
    if (form == nullptr) return usage();
    std::cout << digest(*specs, *form) << '\n';
    return 0;
  }
  const std::size_t shown = arguments.forms.options.shown;
  Outcome total;
  if (arguments.counts && arguments.forms.form.empty()) {
    total.add(
        timed("counts", shown, [&] { return check_counts(*specs, arguments.golden, arguments.bless); }));
    total.add(timed("the manual's list", shown, [&] {
      return check_manual(*specs, PTXLOOM_SOURCE_DIR "/tests/golden/manual_instructions.txt");
    }));
  }
  if (arguments.uses()) {
    for (const char* file : {"real_uses.txt", "header_uses.txt"}) {
      total.add(timed(file, shown, [&] {
        return check_uses(Ours(specs), std::filesystem::path(PTXLOOM_SOURCE_DIR "/tests/oracle") / file);
      }));
    }
  }
  if (arguments.forms.options.until_first && !total.disagreements.empty()) return 1;
  const auto ptxas = find_ptxas();
  if (!ptxas) {
    std::cout << "SKIP: there is no ptxas: none in PTXLOOM_PTXAS, on PATH, or in /usr/local/cuda/bin\n";
    return total.disagreements.empty() ? kSkip : 1;
  }
  std::cout << "ptxas: " << ptxas->string() << ", seed " << arguments.forms.options.seed << std::endl;
  FormsCheck forms(specs, arguments.forms, *ptxas);
  total.add(forms.run());
  if (arguments.bless && arguments.forms.form.empty()) forms.bless();
  std::cout << "total: " << total.lines << " lines, " << total.cases << " cases, "
            << total.disagreements.size() << " disagreements, " << total.foreign
            << " words that ptxas does not look at, " << total.unjudged << " cases that ptxas crashes on, "
            << total.stricter << " that we refuse on purpose, " << total.expanded
            << " where it refuses what it made of the line\n";
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
