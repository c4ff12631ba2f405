// SPDX-License-Identifier: Apache-2.0
// The specs against ptxas. Exit 0: no disagreement; 1: some; 2: bad usage; 77: no ptxas, nothing was checked.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <mutex>
#include <thread>

#include "oracle/checks.hpp"

namespace ptxloom::oracle {

void Outcome::add(Outcome other) {
  cases += other.cases;
  foreign += other.foreign;
  for (std::string& text : other.disagreements) disagreements.push_back(std::move(text));
}

namespace {

constexpr int kSkip = 77;

struct Arguments {
  Options options;
  std::filesystem::path golden = PTXLOOM_SOURCE_DIR "/tests/golden/variant_counts.txt";
  std::filesystem::path real_uses = PTXLOOM_SOURCE_DIR "/tests/oracle/real_uses.jsonl";
  std::vector<std::filesystem::path> overlays;
  unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
  bool bless = false;
};

int usage() {
  std::cerr
      << "usage: test_oracle [--all] [--seed N] [--form NAME] [--jobs N] [--show N] [--specs DIR] [--bless]\n"
         "  --all    every variant, version and neighbour; else large forms are sampled\n"
         "  --bless  writes tests/golden/variant_counts.txt anew\n";
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
    } else if (word == "--specs") {
      arguments.overlays.emplace_back(argv[++i]);
    } else {
      return false;
    }
  }
  return true;
}

void print(std::string_view what, const Outcome& outcome, double seconds, std::size_t shown) {
  std::printf("%-28.*s %8zu cases  %4zu disagreements  %3zu foreign words  %.1f s\n",
              static_cast<int>(what.size()), what.data(), outcome.cases, outcome.disagreements.size(),
              outcome.foreign, seconds);
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

/// All forms, each a piece of work for one of the threads.
Outcome check_forms(const Specs& specs, const Arguments& arguments, const std::filesystem::path& ptxas) {
  const auto forms = specs.database().forms();
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  Outcome total;
  const auto work = [&] {
    Ptxas program(ptxas);
    for (std::size_t i = next++; i < forms.size(); i = next++) {
      const spec::FormData& form = *forms[i];
      if (!arguments.options.form.empty() && form.name != arguments.options.form) continue;
      std::mt19937 random(arguments.options.seed + static_cast<unsigned>(i));
      const Question question{specs, form, arguments.options, program, random};
      Outcome outcome = timed(form.name, mutex, arguments.options.shown, [&] {
        Outcome result = check_legality(question);
        result.add(check_neighbours(question));
        result.add(check_order(question));
        return result;
      });
      const std::lock_guard lock(mutex);
      total.add(std::move(outcome));
    }
  };
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < arguments.jobs; ++i) threads.emplace_back(work);
  threads.clear();
  return total;
}

int run(const Arguments& arguments) {
  const Specs specs(arguments.overlays);
  std::mutex mutex;
  const std::size_t shown = arguments.options.shown;
  Outcome total;
  if (arguments.options.form.empty()) {
    total.add(timed("counts", mutex, shown,
                    [&] { return check_counts(specs, arguments.golden, arguments.bless); }));
    if (arguments.bless) return 0;
    total.add(timed("real uses", mutex, shown, [&] { return check_real_uses(specs, arguments.real_uses); }));
  }
  const auto ptxas = find_ptxas();
  if (!ptxas) {
    std::cout << "SKIP: there is no ptxas: none in PTXLOOM_PTXAS, on PATH, or in /usr/local/cuda/bin\n";
    return total.disagreements.empty() ? kSkip : 1;
  }
  std::cout << "ptxas: " << ptxas->string() << ", seed " << arguments.options.seed << std::endl;
  total.add(check_forms(specs, arguments, *ptxas));
  std::cout << "total: " << total.cases << " cases, " << total.disagreements.size() << " disagreements, "
            << total.foreign << " words that ptxas does not look at\n";
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
