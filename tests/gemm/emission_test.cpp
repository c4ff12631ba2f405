// SPDX-License-Identifier: Apache-2.0
// gemm's kernels and choices against golden files, for changes that must not change them:
//   tests/golden/gemm_emission.txt   random kernels: hashes of the PTX and of the launch plan
//   tests/golden/gemm_defaults.txt   the default choices for the problems of the benchmark suite
// A change that is meant to alter them writes both anew:
//   test_gemm "[.bless]"
#include <fmt/format.h>

#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <sstream>

#include "base/hash.hpp"
#include "bench/gemm/gemm_suite.hpp"
#include "gemm/emission_draw.hpp"
#include "ptxloom/gemm.hpp"
#include "ptxloom/ptx.hpp"
#include "ptxloom/space.hpp"
#include "support/folders.hpp"
#include "support/settings.hpp"

namespace ptxloom::test::emission_test {
namespace {

constexpr std::size_t kCases = 500;
constexpr std::uint32_t kSeed = 20;
const std::string kEmissions = "/tests/golden/gemm_emission.txt",
                  kDefaults = "/tests/golden/gemm_defaults.txt";

std::shared_ptr<const Specs> specs() {
  static const auto specs = std::make_shared<const Specs>();
  return specs;
}

std::string short_hash(std::string_view text) { return fmt::format("{:016x}", hash128(text).low); }

std::string text_of(const TensorMap& map) {
  std::string text = fmt::format("map {} ftz {} padded {} rank {} at {}", map.type.name, map.ftz, map.padded,
                                 map.rank, map.address);
  for (const auto value : map.dims) text += fmt::format(" {}", value);
  for (const auto value : map.strides) text += fmt::format(" {}", value);
  for (const auto value : map.box) text += fmt::format(" {}", value);
  for (const auto value : map.element_strides) text += fmt::format(" {}", value);
  return text + fmt::format(" {} {} {} {} {} {}\n", static_cast<int>(map.interleave),
                            static_cast<int>(map.swizzle), static_cast<int>(map.atom),
                            static_cast<int>(map.l2), static_cast<int>(map.fill), map.image.has_value());
}

std::string text_of(const LaunchPlan& plan) {
  std::string text = plan.entry;
  for (const auto& extents : {plan.grid, plan.block, plan.cluster})
    text += fmt::format(" {}x{}x{}", extents[0], extents[1], extents[2]);
  text += fmt::format(" per SM {} cooperative {} shared {} workspace {}\n", plan.blocks_per_sm,
                      plan.cooperative, plan.shared_bytes, plan.workspace_bytes);
  for (const ArgumentPlan& one : plan.arguments) {
    text += fmt::format("{} {} {} {}\n", one.name, one.type.name, one.tensor, one.bits);
    if (one.map) text += text_of(*one.map);
  }
  return text;
}

/// A line of gemm_emission.txt without its hashes: TARGET | PROBLEM | CONFIGURATION or "default".
std::string line_of(const EmissionCase& one) {
  return fmt::format("{} | {}| {}", one.target, words(one.problem),
                     one.config.empty() ? "default " : words(one.config));
}

std::string hashes_of(const EmissionCase& one) {
  const Template& gemm = gemm_template();
  const Target target(one.target);
  const Settings problem = gemm.problem(one.problem);
  const Settings config = one.config.empty() ? gemm.config(*specs(), target, problem, {}) : one.config;
  const Emitted emitted = gemm.emit(specs(), target, problem, config);
  return short_hash(print(emitted.module)) + " " + short_hash(text_of(emitted.launches.front()));
}

Settings read_words(std::string_view text) {
  Settings settings;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    const std::size_t sign = word.find('=');
    if (sign != std::string::npos) settings[word.substr(0, sign)] = word.substr(sign + 1);
  }
  return settings;
}

struct GoldenEmission {
  EmissionCase one;
  std::string hashes;
};

GoldenEmission read_emission(const std::string& line) {
  std::vector<std::string> parts;
  std::istringstream in(line);
  for (std::string part; std::getline(in, part, '|');) parts.push_back(part);
  REQUIRE(parts.size() == 4);
  return {.one = {.target = parts[0].substr(0, parts[0].find(' ')),
                  .problem = read_words(parts[1]),
                  .config = read_words(parts[2])},
          .hashes = parts[3].substr(1)};
}

std::vector<std::string> lines_of(const std::string& file) {
  std::ifstream in(source_folder() + file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// Choices for every problem and type of the suite on sm_90a; for the types of most use on others.
std::vector<std::string> default_choices() {
  std::vector<std::string> lines;
  const auto add = [&](const char* name, const bench::SuiteType& type) {
    const Target target(name);
    for (const bench::Shape& shape : bench::kSuite) {
      const Settings problem = gemm_template().problem(bench::suite_problem(shape, type));
      std::string line = fmt::format("{} {} {}x{}x{}:", name, type.ab, shape[0], shape[1], shape[2]);
      for (const auto& [word, value] : gemm_template().config(*specs(), target, problem, {}))
        line += fmt::format(" {}={}", word, value);
      lines.push_back(std::move(line));
    }
  };
  for (const bench::SuiteType& type : bench::kSuiteTypes) add("sm_90a", type);
  for (const char* target : {"sm_80", "sm_89", "sm_100a", "sm_120a"}) add(target, bench::kSuiteTypes.front());
  return lines;
}

}  // namespace

TEST_CASE("gemm's kernels are those of the golden file", "[gemm]") {
  const std::vector<std::string> lines = lines_of(kEmissions);
  REQUIRE(lines.size() == kCases);
  for (const std::string& line : lines) {
    const GoldenEmission golden = read_emission(line);
    INFO(line_of(golden.one));
    CHECK(hashes_of(golden.one) == golden.hashes);
  }
}

TEST_CASE("gemm's default choices for the suite are those of the golden file", "[gemm]") {
  const std::vector<std::string> golden = lines_of(kDefaults), now = default_choices();
  REQUIRE(golden.size() == now.size());
  for (std::size_t i = 0; i < now.size(); ++i) CHECK(now[i] == golden[i]);
}

TEST_CASE("the golden files of gemm are written anew", "[.bless]") {
  std::vector<EmissionCase> cases;
  for (const std::string& line : lines_of(kEmissions)) cases.push_back(read_emission(line).one);
  if (cases.empty()) cases = draw_emissions(specs(), kCases, kSeed);
  std::ofstream emissions(source_folder() + kEmissions), defaults(source_folder() + kDefaults);
  for (const EmissionCase& one : cases) emissions << line_of(one) << "| " << hashes_of(one) << "\n";
  for (const std::string& line : default_choices()) defaults << line << "\n";
  CHECK(emissions.good());
  CHECK(defaults.good());
}

}  // namespace ptxloom::test::emission_test
