// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <fstream>
#include <map>
#include <sstream>

#include "oracle/checks.hpp"
#include "target/releases.hpp"

namespace ptxloom::oracle {
namespace {

struct LimitedKind {
  const char* name;
  std::size_t (*count)(const Outcome&);
};

constexpr std::array<LimitedKind, 6> kKinds{{
    {"crashes", [](const Outcome& outcome) { return outcome.unjudged; }},
    {"expansions", [](const Outcome& outcome) { return outcome.expanded; }},
    {"foreign", [](const Outcome& outcome) { return outcome.foreign; }},
    {"stricter", [](const Outcome& outcome) { return outcome.stricter; }},
    {"barren", [](const Outcome& outcome) { return outcome.barren; }},
    {"unproven", [](const Outcome& outcome) { return outcome.recalled.unproven; }},
}};

/// By kind: of a whole sample, of a tenth. "crashes/13.5" is the limit of some assemblers; the last line
/// counts.
std::map<std::string, std::array<std::size_t, 2>> read_limits(const std::filesystem::path& file,
                                                              std::optional<Version> assembler) {
  std::map<std::string, std::array<std::size_t, 2>> limits;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string kind;
    std::array<std::size_t, 2> most{};
    if (line.starts_with('#') || !(words >> kind >> most[0] >> most[1])) continue;
    const std::size_t slash = kind.find('/');
    if (slash != kind.npos &&
        !(assembler && target::parse_releases(std::string_view(kind).substr(slash + 1)).contains(*assembler)))
      continue;
    limits[kind.substr(0, slash)] = most;
  }
  return limits;
}

}  // namespace

std::vector<std::string> beyond_limits(const Outcome& outcome, const std::filesystem::path& file, bool tenth,
                                       std::optional<Version> assembler) {
  const auto limits = read_limits(file, assembler);
  std::vector<std::string> texts;
  for (const LimitedKind& kind : kKinds) {
    const auto limit = limits.find(kind.name);
    if (limit == limits.end()) {
      texts.push_back(file.string() + " has no limit for " + kind.name);
    } else if (const std::size_t most = limit->second[tenth ? 1 : 0], count = kind.count(outcome);
               count > most) {
      texts.push_back(std::string(kind.name) + ": " + std::to_string(count) +
                      " are left without a verdict, and " + file.string() + " allows " +
                      std::to_string(most));
    }
  }
  return texts;
}

}  // namespace ptxloom::oracle
