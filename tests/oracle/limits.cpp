// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <fstream>
#include <map>
#include <sstream>

#include "oracle/checks.hpp"

namespace ptxloom::oracle {
namespace {

struct Kind {
  const char* name;
  std::size_t (*count)(const Outcome&);
};

constexpr std::array<Kind, 6> kKinds{{
    {"crashes", [](const Outcome& outcome) { return outcome.unjudged; }},
    {"expansions", [](const Outcome& outcome) { return outcome.expanded; }},
    {"foreign", [](const Outcome& outcome) { return outcome.foreign; }},
    {"stricter", [](const Outcome& outcome) { return outcome.stricter; }},
    {"barren", [](const Outcome& outcome) { return outcome.barren; }},
    {"unproven", [](const Outcome& outcome) { return outcome.recalled.unproven; }},
}};

/// By kind: of a whole sample, of a tenth.
std::map<std::string, std::array<std::size_t, 2>> read_limits(const std::filesystem::path& file) {
  std::map<std::string, std::array<std::size_t, 2>> limits;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string kind;
    std::array<std::size_t, 2> most{};
    if (!line.starts_with('#') && words >> kind >> most[0] >> most[1]) limits[kind] = most;
  }
  return limits;
}

}  // namespace

std::vector<std::string> beyond_limits(const Outcome& outcome, const std::filesystem::path& file,
                                       bool tenth) {
  const auto limits = read_limits(file);
  std::vector<std::string> texts;
  for (const Kind& kind : kKinds) {
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
