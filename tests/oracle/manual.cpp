// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fstream>

#include "oracle/checks.hpp"

namespace ptxloom::oracle {
namespace {

/// Takes the first word of an opcode off, without what stands behind "::" in it.
std::string_view next_word(std::string_view& opcode) {
  std::string_view word = opcode.substr(0, opcode.find('.'));
  opcode.remove_prefix(std::min(opcode.size(), word.size() + 1));
  return word.substr(0, word.find("::"));
}

/// Whether the words of the manual's name stand in the opcode in their order: "match.sync" in
/// "match.any.sync.b32".
bool names(std::string_view name, std::string_view opcode) {
  if (next_word(name) != next_word(opcode)) return false;
  while (!name.empty()) {
    const std::string_view wanted = next_word(name);
    std::string_view found;
    while (found != wanted) {
      if (opcode.empty()) return false;
      found = next_word(opcode);
    }
  }
  return true;
}

bool is_known(const Specs& specs, std::string_view name) {
  for (const spec::FormData* form : specs.database().with_mnemonic(name.substr(0, name.find('.')))) {
    for (const Variant& variant : specs.variants(form->name)) {
      if (names(name, variant.opcode())) return true;
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
