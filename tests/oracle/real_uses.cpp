// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <nlohmann/json.hpp>

#include "oracle/checks.hpp"

namespace ptxloom::oracle {
namespace {

/// The opcode of "add.f16 %rs0, %rs1;".
std::string opcode_of(const std::string& line) { return line.substr(0, line.find_first_of(" ;")); }

}  // namespace

Outcome check_real_uses(const Specs& specs, const std::filesystem::path& file) {
  Outcome outcome;
  std::ifstream in(file);
  std::string text;
  if (!std::getline(in, text)) {
    outcome.disagreements.push_back("cannot read " + file.string());
    return outcome;
  }
  const auto targets = nlohmann::json::parse(text).at("targets").get<std::vector<std::string>>();
  while (std::getline(in, text)) {
    const auto use = nlohmann::json::parse(text);
    const auto line = use.at("x").get<std::string>(), verdicts = use.at("v").get<std::string>();
    for (std::size_t i = 0; i < targets.size(); ++i) {
      ++outcome.cases;
      bool ours = false;
      for (Variant variant : specs.match(opcode_of(line))) {
        ours = ours || variant.allowed(Target(targets[i]), ptx_versions().back());
      }
      if (ours == (verdicts[i] == '1')) continue;
      outcome.disagreements.push_back(line + ": ptxas " + (ours ? "refuses it on " : "takes it on ") +
                                      targets[i]);
      break;
    }
  }
  return outcome;
}

}  // namespace ptxloom::oracle
