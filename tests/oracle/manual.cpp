// SPDX-License-Identifier: Apache-2.0
#include <fstream>

#include "oracle/checks.hpp"

namespace ptxloom::oracle {
namespace {

bool begins_with(std::string_view opcode, std::string_view name) {
  return opcode.starts_with(name) && (opcode.size() == name.size() || opcode[name.size()] == '.');
}

bool is_known(const Specs& specs, std::string_view name) {
  for (const spec::FormData* form : specs.database().with_mnemonic(name.substr(0, name.find('.')))) {
    for (Variant variant : specs.variants(form->name)) {
      if (begins_with(variant.opcode(), name)) return true;
    }
  }
  return false;
}

}  // namespace

Outcome check_manual(const Specs& specs, const std::filesystem::path& names) {
  Outcome outcome;
  std::ifstream in(names);
  for (std::string name; std::getline(in, name);) {
    if (name.empty() || name.starts_with('#')) continue;
    ++outcome.cases;
    if (!is_known(specs, name))
      outcome.disagreements.push_back("no form has the manual's instruction " + name);
  }
  if (outcome.cases == 0) outcome.disagreements.push_back("there are no names in " + names.string());
  return outcome;
}

}  // namespace ptxloom::oracle
