// SPDX-License-Identifier: Apache-2.0
#include "oracle/ours.hpp"

#include <algorithm>
#include <stdexcept>

#include "ptxloom/check.hpp"
#include "ptxloom/ptx.hpp"

namespace ptxloom::oracle {
namespace {

std::string opcode_of(const std::string& line) { return line.substr(0, line.find_first_of(" ;")); }

/// Whether some form has the opcode at this place. One that none has is refused at once: to explain it would
/// take longer than anything else.
bool known(const Specs& specs, const std::string& opcode, const Place& place) {
  const auto variants = specs.match(opcode);
  return std::any_of(variants.begin(), variants.end(),
                     [&](Variant variant) { return variant.allowed(place.target, place.version); });
}

}  // namespace

std::vector<Verdict> Ours::judge(std::span<const std::string> lines, const Place& place) const {
  std::vector<Verdict> verdicts(lines.size());
  std::vector<std::size_t> live;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (known(*specs_, opcode_of(lines[i]), place)) {
      live.push_back(i);
    } else {
      verdicts[i] = {.accepted = false, .message = "there is no such opcode"};
    }
  }
  // One error may hide others: what is left is read again until there is none.
  for (bool refused = true; refused && !live.empty();) {
    refused = refuse(lines, live, place, verdicts);
    std::erase_if(live, [&](std::size_t index) { return !verdicts[index].accepted; });
  }
  return verdicts;
}

bool Ours::refuse(std::span<const std::string> lines, std::span<const std::size_t> live, const Place& place,
                  std::vector<Verdict>& verdicts) const {
  const Source source(lines, live, place);
  ParseResult read = parse(source.text(), specs_);
  std::vector<Diagnostic> found = std::move(read.diagnostics);
  for (Diagnostic& diagnostic : check(read.module)) found.push_back(std::move(diagnostic));
  bool refused = false;
  for (Diagnostic& diagnostic : found) {
    if (diagnostic.severity != Severity::error) continue;
    const int position = source.position(diagnostic.line);
    if (position < 0)
      throw std::runtime_error("our reader refuses the declarations around the lines: " +
                               to_string(diagnostic));
    verdicts[live[static_cast<std::size_t>(position)]] = {false, std::move(diagnostic.message)};
    refused = true;
  }
  return refused;
}

}  // namespace ptxloom::oracle
