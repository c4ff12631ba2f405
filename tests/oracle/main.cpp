// SPDX-License-Identifier: Apache-2.0
// The specs against ptxas. Exit 0: no disagreement; 1: some; 2: bad usage; 77: no ptxas, nothing was checked.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <memory>
#include <mutex>
#include <thread>

#include "oracle/checks.hpp"

namespace ptxloom::oracle {

void Outcome::add(Outcome other) {
  cases += other.cases;
  lines += other.lines;
  foreign += other.foreign;
  foreign_words.merge(other.foreign_words);
  differing.merge(other.differing);
  not_compared += other.not_compared;
  unjudged += other.unjudged;
  expanded += other.expanded;
  stricter += other.stricter;
  for (std::string& text : other.disagreements) disagreements.push_back(std::move(text));
}

namespace {

constexpr int kSkip = 77;

struct Arguments {
  Options options;
  std::filesystem::path golden = PTXLOOM_SOURCE_DIR "/tests/golden/variant_counts.txt";
  std::filesystem::path foreign = PTXLOOM_SOURCE_DIR "/tests/oracle/foreign_words.txt";
  std::filesystem::path unread = PTXLOOM_SOURCE_DIR "/tests/oracle/unread_words.txt";
  std::filesystem::path stricter = PTXLOOM_SOURCE_DIR "/tests/oracle/stricter.txt";
  std::filesystem::path open = PTXLOOM_SOURCE_DIR "/tests/golden/oracle_open.txt";
  bool write_open = false;
  std::vector<std::filesystem::path> overlays;
  unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
  bool bless = false;
  bool counts = true;
  bool with_uses = false;
  bool digest = false;  // prints the digest of the form, and checks nothing

  bool uses() const { return with_uses || options.form.empty(); }
};

int usage() {
  std::cerr << "usage: test_oracle [FORM] [--all] [--seed N] [--form NAME] [--jobs N] [--show N] [--specs "
               "DIR] [--bless]\n"
               "                   [--no-counts] [--uses] [--until-first] [--digest]\n"
               "                   [--write-open FILE]\n"
               "  --all    every variant, version and neighbour; else large forms are sampled\n"
               "  --form   one form, without the counts; with --uses the instructions of real code too\n"
               "  --digest prints a number for all that the form says, for mutate.py\n"
               "  --write-open FILE  compares all kinds of neighbours, and adds those that disagree to FILE "
               "(tests/golden/\n"
               "           oracle_open.txt), whose reasons stay; with --all it removes those that agree\n"
               "  --bless  writes tests/golden/variant_counts.txt and, of a run over all forms, "
               "tests/oracle/foreign_words.txt anew\n";
  return 2;
}

bool parse(int argc, char** argv, Arguments& arguments) {
  arguments.options.seed = static_cast<unsigned>(std::chrono::system_clock::now().time_since_epoch().count());
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const bool last = i + 1 == argc;
    if (word == "--all") {
      arguments.options.all = true;
    } else if (word == "--bless") {
      arguments.bless = true;
    } else if (word == "--until-first") {
      arguments.options.until_first = true;
    } else if (word == "--uses") {
      arguments.with_uses = true;
    } else if (word == "--no-counts") {
      arguments.counts = false;
    } else if (word == "--digest") {
      arguments.digest = true;
    } else if (!word.starts_with("--")) {
      arguments.options.form = word;
    } else if (last) {
      return false;
    } else if (word == "--seed") {
      arguments.options.seed = static_cast<unsigned>(std::stoul(argv[++i]));
    } else if (word == "--form") {
      arguments.options.form = argv[++i];
    } else if (word == "--jobs") {
      arguments.jobs = static_cast<unsigned>(std::stoul(argv[++i]));
    } else if (word == "--show") {
      arguments.options.shown = std::stoul(argv[++i]);
    } else if (word == "--write-open") {
      arguments.write_open = true;
      arguments.open = argv[++i];
    } else if (word == "--specs") {
      arguments.overlays.emplace_back(argv[++i]);
    } else {
      return false;
    }
  }
  return true;
}

void print(std::string_view what, const Outcome& outcome, double seconds, std::size_t shown) {
  std::printf("%-28.*s %8zu cases  %4zu disagreements  %3zu foreign words  %.1f s",
              static_cast<int>(what.size()), what.data(), outcome.cases, outcome.disagreements.size(),
              outcome.foreign, seconds);
  if (outcome.unjudged > 0) std::printf("  ptxas crashes on %zu", outcome.unjudged);
  if (outcome.expanded > 0) std::printf("  refuses its own expansion of %zu", outcome.expanded);
  if (outcome.not_compared > 0) std::printf("  %zu not compared", outcome.not_compared);
  std::printf("\n");
  for (std::size_t i = 0; i < std::min(shown, outcome.disagreements.size()); ++i) {
    std::printf("    %s\n", outcome.disagreements[i].c_str());
  }
  std::fflush(stdout);
}

template <class Work>
Outcome timed(std::string_view what, std::mutex& mutex, std::size_t shown, Work work) {
  const auto start = std::chrono::steady_clock::now();
  Outcome outcome = work();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const std::lock_guard lock(mutex);
  print(what, outcome, seconds.count(), shown);
  return outcome;
}

/// Checks all forms, each a piece of work for one of the threads.
class FormsCheck {
 public:
  FormsCheck(std::shared_ptr<const Specs> specs, const Arguments& arguments, std::filesystem::path ptxas)
      : specs_(std::move(specs)),
        arguments_(arguments),
        ptxas_(std::move(ptxas)),
        foreign_(ForeignWords::read(arguments.foreign)),
        unread_(ForeignWords::read(arguments.unread)),
        stricter_(ForeignWords::read(arguments.stricter)),
        open_(OpenKinds::read(arguments.open, *specs_)) {}

  Outcome run() {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < arguments_.jobs; ++i) threads.emplace_back([&] { work(); });
    threads.clear();
    return std::move(total_);
  }

  /// The list of foreign words, with those found by `run` instead of those read.
  void bless() const { found_.write(arguments_.foreign); }

  /// The list of open kinds, with those found by `run`. A sample that agrees proves nothing: only --all takes
  /// a kind from the list.
  void write_open() {
    if (arguments_.options.all && arguments_.options.form.empty()) open_.keep_only(differing_);
    open_.merge(differing_);
    open_.write(arguments_.open);
  }

 private:
  void work() {
    Ptxas program(ptxas_);
    const Ours ours(specs_);
    const auto forms = specs_->database().forms();
    for (std::size_t i = next_++; i < forms.size(); i = next_++) {
      const spec::FormData& form = *forms[i];
      if (!arguments_.options.form.empty() && form.name != arguments_.options.form) continue;
      std::mt19937 random = random_for(form);
      const Question question{*specs_,
                              form,
                              arguments_.options,
                              foreign_,
                              unread_,
                              stricter_,
                              arguments_.write_open ? nothing_open_ : open_,
                              program,
                              ours,
                              random};
      Outcome outcome =
          timed(form.name, mutex_, arguments_.options.shown, [&] { return check_form(question); });
      const std::lock_guard lock(mutex_);
      found_.set(form.name, outcome.foreign_words);
      for (const auto& [kind, example] : outcome.differing) differing_.add(form.name, kind, example);
      total_.add(std::move(outcome));
    }
  }

  /// A form's sample depends on no other form.
  std::mt19937 random_for(const spec::FormData& form) const {
    std::vector<unsigned> words{arguments_.options.seed};
    for (const char c : form.name) words.push_back(static_cast<unsigned char>(c));
    std::seed_seq seed(words.begin(), words.end());
    return std::mt19937(seed);
  }

  static Outcome check_form(const Question& question) try {
    Outcome result = check_legality(question);
    if (!question.options.until_first || result.disagreements.empty()) result.add(check_neighbours(question));
    return result;
  } catch (const std::runtime_error& error) {
    return {.disagreements = {error.what()}};
  }

  std::shared_ptr<const Specs> specs_;
  const Arguments& arguments_;
  std::filesystem::path ptxas_;
  ForeignWords foreign_, unread_, stricter_, found_;
  OpenKinds open_, differing_;
  const OpenKinds nothing_open_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  Outcome total_;
};

int run(const Arguments& arguments) {
  const auto specs = std::make_shared<const Specs>(arguments.overlays);
  if (arguments.digest) {
    const spec::FormData* const form = specs->database().find_form(arguments.options.form);
    if (form == nullptr) return usage();
    std::cout << digest(*specs, *form) << '\n';
    return 0;
  }
  std::mutex mutex;
  const std::size_t shown = arguments.options.shown;
  Outcome total;
  if (arguments.counts && arguments.options.form.empty()) {
    total.add(timed("counts", mutex, shown,
                    [&] { return check_counts(*specs, arguments.golden, arguments.bless); }));
    total.add(timed("the manual's list", mutex, shown, [&] {
      return check_manual(*specs, PTXLOOM_SOURCE_DIR "/tests/golden/manual_instructions.txt");
    }));
  }
  if (arguments.uses()) {
    for (const char* file : {"real_uses.txt", "header_uses.txt"}) {
      total.add(timed(file, mutex, shown, [&] {
        return check_uses(Ours(specs), std::filesystem::path(PTXLOOM_SOURCE_DIR "/tests/oracle") / file);
      }));
    }
  }
  if (arguments.options.until_first && !total.disagreements.empty()) return 1;
  const auto ptxas = find_ptxas();
  if (!ptxas) {
    std::cout << "SKIP: there is no ptxas: none in PTXLOOM_PTXAS, on PATH, or in /usr/local/cuda/bin\n";
    return total.disagreements.empty() ? kSkip : 1;
  }
  std::cout << "ptxas: " << ptxas->string() << ", seed " << arguments.options.seed << std::endl;
  FormsCheck forms(specs, arguments, *ptxas);
  total.add(forms.run());
  if (arguments.bless && arguments.options.form.empty()) forms.bless();
  if (arguments.write_open) forms.write_open();
  std::cout << "total: " << total.lines << " lines, " << total.cases << " cases, "
            << total.disagreements.size() << " disagreements, " << total.foreign
            << " words that ptxas does not look at, " << total.unjudged << " cases that ptxas crashes on, "
            << total.stricter << " that we refuse on purpose, " << total.expanded
            << " where it refuses what it made of the line, " << total.not_compared
            << " cases of open kinds not compared\n";
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
