// SPDX-License-Identifier: Apache-2.0
#include <fstream>

#include "oracle/checks.hpp"
#include "spec/cell.hpp"

namespace ptxloom::oracle {
namespace {

// The registers that the lines name.
const Surroundings kAround{
    .module_decls = {},
    .body_decls =
        ".reg .pred %p<256>; .reg .b8 %rb<256>; .reg .b16 %rs<256>; .reg .b32 %r<256>; "
        ".reg .b64 %rd<256>; .reg .b128 %rq<256>; .reg .f32 %f<256>; .reg .f64 %fd<256>;"};

/// Lines that ptxas takes on the same targets.
struct Group {
  std::string verdict;  // a digit for each target
  std::vector<std::string> lines;
};

struct Uses {
  Version assembler;  // a release of CUDA
  std::vector<std::string> targets;
  std::vector<Group> groups;
};

Uses read_uses(const std::filesystem::path& file) {
  Uses uses;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("assembler ")) {
      uses.assembler = parse_version(std::string_view(line).substr(10));
    } else if (line.starts_with("targets ")) {
      for (std::string_view target : spec::split(std::string_view(line).substr(8), ' '))
        uses.targets.emplace_back(target);
    } else if (line.starts_with("verdict ")) {
      uses.groups.push_back({line.substr(8), {}});
    } else if (!line.starts_with('#') && !uses.groups.empty()) {
      uses.groups.back().lines.push_back(line);
    }
  }
  return uses;
}

}  // namespace

Outcome check_uses(std::span<const std::filesystem::path> overlays, const std::filesystem::path& file) {
  const Uses uses = read_uses(file);
  const auto specs = std::make_shared<const Specs>(overlays, uses.assembler);
  const Ours ours(specs);
  Outcome outcome;
  if (uses.groups.empty()) outcome.disagreements.push_back("there are no uses in " + file.string());
  for (const Group& group : uses.groups) {
    outcome.lines += group.lines.size();
    std::vector<std::string> differing(group.lines.size());
    for (std::size_t t = 0; t < uses.targets.size(); ++t) {
      const bool expected = group.verdict[t] == '1';
      const auto verdicts =
          ours.judge(group.lines, {Target(uses.targets[t]), versions_of(*specs).back(), kAround});
      outcome.cases += verdicts.size();
      for (std::size_t i = 0; i < verdicts.size(); ++i) {
        if (verdicts[i].accepted == expected) continue;
        if (differing[i].empty())
          differing[i] = group.lines[i] + "  ptxas " +
                         (expected ? "takes it, ours: " + verdicts[i].message : "refuses it") + " @";
        differing[i] += " " + uses.targets[t];
      }
    }
    std::erase(differing, std::string());
    for (std::string& text : differing) outcome.disagreements.push_back(std::move(text));
  }
  return outcome;
}

}  // namespace ptxloom::oracle
