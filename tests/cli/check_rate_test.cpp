// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>

#include <algorithm>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>

#include "bench/cpu/statements.hpp"
#include "cli/tool.hpp"

// How many single statements `check --jsonl` judges in a second, by CPU time, which a busy machine hardly
// changes.
namespace ptxloom::test::check_rate_test {
namespace {

double cpu_seconds_of_children() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

TEST_CASE("check --jsonl judges 20,000 legal and illegal lines a second on two cores") {
  constexpr std::size_t kLines = 6000;
  constexpr double kMost = 2.0 / 20000;  // seconds of a core for a line
  const unsigned seed = Catch::getSeed();
  bench::Statements statements(std::make_shared<const Specs>(), seed);
  std::string lines;
  for (std::size_t i = 0; i < kLines; ++i)
    lines += bench::json_of(i, i % 2 == 0 ? statements.legal() : statements.illegal()) + "\n";
  double least = 1e9;
  for (int i = 0; i < 3 && least / kLines > kMost; ++i) {
    const double before = cpu_seconds_of_children();
    const ToolResult result = run_tool({"check", "--jsonl", "-"}, {}, lines);
    least = std::min(least, cpu_seconds_of_children() - before);
    REQUIRE(result.code == 1);
    REQUIRE(std::ranges::count(result.out, '\n') == static_cast<std::ptrdiff_t>(kLines));
  }
  INFO("seed " << seed << ": " << least / kLines * 1e6 << " us of a core for a line");
  CHECK(least / kLines <= kMost);
}

}  // namespace ptxloom::test::check_rate_test
