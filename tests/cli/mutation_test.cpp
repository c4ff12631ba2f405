// SPDX-License-Identifier: Apache-2.0
// Random changes to good command lines: whatever comes of them, it is one of the documented exit codes and in
// the tool's own words.
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <random>

#include "cli/tool.hpp"
#include "support/ptxas.hpp"

namespace ptxloom::test::mutation_test {
namespace {

const std::vector<std::string> kNasty = {"",
                                         "-",
                                         "--",
                                         "-1",
                                         "0",
                                         "nan",
                                         "inf",
                                         "1e999",
                                         "99999999999999999999",
                                         "18446744073709551615",
                                         "--json",
                                         "--json=7",
                                         "--seed",
                                         "--set",
                                         "=",
                                         "a=",
                                         "=b",
                                         "m=x",
                                         "\xff\xfe",
                                         "%s%n",
                                         "{}",
                                         "{0}",
                                         "[",
                                         "../..",
                                         "/",
                                         "/dev/full",
                                         "/dev/null",
                                         "/proc/self/mem",
                                         "1,2,3,4",
                                         "cpu",
                                         "gpu:99999999999",
                                         "all",
                                         "sm_",
                                         "sm_90a",
                                         std::string(5000, 'x'),
                                         std::string(300, '.'),
                                         "out=f32[99999999999999]:/tmp/never.npy",
                                         "in=",
                                         "u32=-1",
                                         "f8=1",
                                         "--arg",
                                         "--grid",
                                         "--trace=9-1",
                                         "--help",
                                         "-h",
                                         "--no-json",
                                         "--format",
                                         "json",
                                         "A",
                                         "...",
                                         "😀"};

class Mutator {
 public:
  explicit Mutator(std::uint32_t seed) : random_(seed) {}

  std::vector<std::string> mutate(std::vector<std::string> arguments) {
    for (std::size_t changes = 1 + below(2); changes > 0; --changes) change(arguments);
    return arguments;
  }

 private:
  std::size_t below(std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random_);
  }
  const std::string& nasty() { return kNasty[below(kNasty.size())]; }

  /// The subcommand stays.
  void change(std::vector<std::string>& arguments) {
    const std::size_t at = 1 + below(arguments.size());
    const bool end = at >= arguments.size();
    const auto place = arguments.begin() + static_cast<std::ptrdiff_t>(std::min(at, arguments.size()));
    switch (below(5)) {
      case 0:
        arguments.insert(place, nasty());
        return;
      case 1:
        if (!end) *place = nasty();
        return;
      case 2:
        if (!end) arguments.erase(place);
        return;
      case 3:
        if (!end) place->insert(below(place->size() + 1), nasty());
        return;
      default:
        if (!end) place->resize(below(place->size() + 1));
        return;
    }
  }

  std::mt19937 random_;
};

std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

}  // namespace

TEST_CASE("no change to a command line crashes the tool or makes it speak in a library's words", "[slow]") {
  const std::uint32_t seed = Catch::getSeed();
  CAPTURE(seed);
  Mutator mutator(seed);
  const TemporaryFolder folder;
  for (const Use& use : uses_of_all_subcommands(folder.path())) {
    for (int round = 0; round < 12; ++round) {
      const std::vector<std::string> arguments = mutator.mutate(use.arguments);
      // One that has got an hour of work to do is interrupted.
      std::string command = "cd " + folder.path().string() +
                            " && PTXLOOM_CACHE_DIR=cache PTXLOOM_RECORDS=records timeout --preserve-status " +
                            "-s INT -k 20 5 " + tool_path();
      for (const std::string& word : arguments) command += " " + quoted(word);
      const CommandResult result = run_command(command + " < /dev/null");
      CAPTURE(command, result.output.substr(0, 4000));
      const bool documented = (result.status >= 0 && result.status <= 3) || result.status == 130;
      CHECK(documented);
      for (const char* foreign : {"exception", "std::", "stoul", "stoull", "stod", "filesystem error",
                                  "basic_string", "vector::", "bad_alloc", "what()", "CLI::", "terminate",
                                  "Should be", "not convert", "not expected"})
        CHECK(result.output.find(foreign) == std::string::npos);
    }
  }
}

}  // namespace ptxloom::test::mutation_test
