// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "judge/pairs.hpp"
#include "ptxloom/error.hpp"
#include "ptxloom/exec.hpp"
#include "ptxloom/ptx.hpp"
#include "ptxloom/tensor_map.hpp"

// Kernels with one misuse each, beside the same kernel without it: tests/judge/pairs.
namespace ptxloom::test::judge_test {
namespace {

std::shared_ptr<const Specs> specs() {
  static const auto shared = std::make_shared<const Specs>();
  return shared;
}

constexpr std::size_t kWords = 4096;

/// A tensor map of a buffer as 64 rows of 64 words, in boxes of 4 rows of 32 words: 512 bytes.
EncodedTensorMap map_of(std::uint64_t address) {
  return encode_for_executor({.type = u32,
                              .rank = 2,
                              .address = address,
                              .dims = {64, 64},
                              .strides = {256},
                              .box = {32, 4, 1, 1, 1}});
}

/// The parameters of kHead.
struct Parameters {
  std::uint64_t out = 0, in = 0;
  std::array<std::byte, 48> padding{};
  EncodedTensorMap load, store;
};

std::vector<exec::Finding> findings_in(const Pair& pair, const std::string& ptx,
                                       const exec::Schedule& schedule = {},
                                       exec::Reversals* reversals = nullptr) {
  const ParseResult parsed = parse(ptx, specs());
  for (const Diagnostic& diagnostic : parsed.diagnostics) UNSCOPED_INFO(to_string(diagnostic));
  REQUIRE(parsed.ok());
  const exec::Program program(parsed.module, "k");
  exec::Memory memory;
  std::vector<std::uint32_t> out(kWords), in(kWords);
  Parameters parameters{.out = memory.map(out.data(), 4 * kWords, "out"),
                        .in = memory.map(in.data(), 4 * kWords, "in"),
                        .load = {},
                        .store = {}};
  parameters.load = map_of(parameters.in);
  parameters.store = map_of(parameters.out);
  exec::Findings findings;
  program.run(memory, {.grid = {pair.grid, 1, 1},
                       .block = {pair.block, 1, 1},
                       .cluster = {pair.cluster, 1, 1},
                       .shared_bytes = pair.dynamic_shared,
                       .parameters = std::as_bytes(std::span(&parameters, 1)),
                       .step_limit = 100'000,
                       .findings = &findings,
                       .schedule = schedule,
                       .reversals = reversals});
  return findings.all();
}

/// The findings of the first of a pair's orders that has any: the fixed one, then those that reverse what was
/// seen before.
std::vector<exec::Finding> first_findings(const Pair& pair, const std::string& ptx) {
  exec::Reversals reversals;
  std::vector<exec::Finding> findings = findings_in(pair, ptx, {}, &reversals);
  if (pair.orders != 0) CHECK(findings.empty());
  for (std::uint32_t i = 0; i < pair.orders && findings.empty(); ++i) {
    const auto schedule = reversals.next();
    if (!schedule) break;
    findings = findings_in(pair, ptx, *schedule, &reversals);
  }
  return findings;
}

std::string describe(const exec::Finding& finding) {
  std::string text = "line " + std::to_string(finding.at.line);
  if (finding.other) text += " with line " + std::to_string(finding.other->line);
  return text + ": " + finding.code + ": " + finding.what;
}

/// Why the findings in the bad kernel are not those that are expected; empty if they are.
std::string compare(const Pair& pair, const std::vector<exec::Finding>& findings) {
  bool found = false;
  for (const exec::Finding& finding : findings) {
    if (std::ranges::find(pair.codes, finding.code) == pair.codes.end())
      return "another code: " + describe(finding);
    if (finding.code != pair.codes.front()) continue;
    std::set<int> lines{finding.at.line};
    if (finding.other) lines.insert(finding.other->line);
    found |= std::ranges::includes(lines, pair.lines);
    for (const int line : lines)
      if (!pair.lines.contains(line) && !pair.may.contains(line)) return "another line: " + describe(finding);
  }
  if (found) return {};
  return findings.empty() ? "nothing is found" : "not all lines: " + describe(findings.front());
}

}  // namespace

TEST_CASE("each pair says what it is after, and where that rule or that bug is written down") {
  const std::regex source(R"(.*\((PTX ISA [0-9]+(\.[0-9]+)+|[A-Za-z][A-Za-z0-9_./-]*#[0-9]+).*\)\.)");
  std::set<std::string> names;
  for (const Pair& pair : read_pairs()) {
    CAPTURE(pair.name, pair.about);
    CHECK(std::regex_match(pair.about, source));
    CHECK(names.insert(pair.name).second);
  }
}

TEST_CASE("each broken kernel has its finding at its lines, and the mended one has none") {
  const std::vector<Pair> pairs = read_pairs();
  REQUIRE(pairs.size() >= 400);
  for (const Pair& pair : pairs) {
    CAPTURE(pair.name, pair.bad, pair.fixed);
    std::string problem, alarm;
    CHECK_NOTHROW(problem = compare(pair, first_findings(pair, pair.bad)));
    CHECK(problem == "");
    std::vector<exec::Finding> left;
    CHECK_NOTHROW(left = first_findings(pair, pair.fixed));
    for (const exec::Finding& finding : left) alarm += describe(finding) + "\n";
    CHECK(alarm == "");
  }
}

TEST_CASE("no order of warps and thread blocks gives a mended kernel a finding") {
  std::mt19937_64 random{std::random_device{}()};
  for (const Pair& pair : read_pairs()) {
    for (int i = 0; i < 5; ++i) {
      const std::uint64_t schedule = random() | 1;
      CAPTURE(pair.name, pair.fixed, schedule);
      std::vector<exec::Finding> left;
      CHECK_NOTHROW(left = findings_in(pair, pair.fixed, schedule));
      std::string alarm;
      for (const exec::Finding& finding : left) alarm += describe(finding) + "\n";
      CHECK(alarm == "");
    }
  }
}

TEST_CASE("a broken kernel has its finding in most orders of warps, and the same in each run of one order") {
  int found = 0, all = 0;
  for (const Pair& pair : read_pairs()) {
    if (pair.orders != 0) continue;
    for (std::uint64_t schedule = 1; schedule < 4; ++schedule) {
      CAPTURE(pair.name, pair.bad, schedule);
      const auto findings = findings_in(pair, pair.bad, schedule);
      ++all;
      found +=
          std::ranges::find(findings, pair.codes.front(), &exec::Finding::code) != findings.end() ? 1 : 0;
      const auto again = findings_in(pair, pair.bad, schedule);
      REQUIRE(findings.size() == again.size());
      for (std::size_t i = 0; i < again.size(); ++i) {
        CHECK(findings[i].code == again[i].code);
        CHECK(findings[i].at.line == again[i].at.line);
        CHECK(findings[i].at.warp == again[i].at.warp);
        CHECK(findings[i].at.lane == again[i].at.lane);
        CHECK(findings[i].count == again[i].count);
      }
    }
  }
  CHECK(found >= all * 9 / 10);
}

TEST_CASE("orders that reverse what was seen find what as many random orders miss, and repeat it") {
  int missed = 0, all = 0;
  for (const Pair& pair : read_pairs()) {
    if (pair.orders == 0) continue;
    CAPTURE(pair.name, pair.bad);
    const auto findings = first_findings(pair, pair.bad);
    REQUIRE(!findings.empty());
    const exec::Schedule& schedule = findings.front().schedule;
    CHECK(schedule.seed == 0);
    const auto again = findings_in(pair, pair.bad, exec::parse_schedule(exec::to_string(schedule)));
    REQUIRE(again.size() == findings.size());
    CHECK(again.front().what == findings.front().what);
    bool found = false;
    for (std::uint64_t seed = 1; seed <= pair.orders; ++seed)
      found |= !findings_in(pair, pair.bad, seed).empty();
    ++all;
    missed += found ? 0 : 1;
  }
  CHECK(all >= 7);
  CHECK(missed >= 4);
}

}  // namespace ptxloom::test::judge_test
