// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "oracle/checks.hpp"
#include "oracle/instance.hpp"

namespace ptxloom::oracle {
namespace {

/// On which targets and in which versions, as a text of digits.
std::string mask_of(Variant variant) {
  std::string mask;
  for (const TargetInfo& info : targets()) {
    for (Version version : ptx_versions()) mask += variant.allowed(Target(info), version) ? '1' : '0';
  }
  return mask;
}

/// What the operands take, whatever they are called.
std::string operands_of(Variant variant) {
  std::string text;
  for (const OperandSpec& operand : variant.operands()) {
    text += ", " + operand.describe();
    if (operand.kind == OperandSpec::Kind::value) text += " b" + std::to_string(operand.type.bits);
    if (operand.literal_allowed) text += operand.type.kind == TypeKind::floating ? " real" : " literal";
    if (operand.wider_allowed) text += " wider";
    if (operand.pairs) text += " pairs";
    if (operand.sink_allowed) text += " sink";
    if (operand.negation_allowed) text += " negated";
  }
  return text;
}

}  // namespace

std::size_t digest(const Specs& specs, const spec::FormData& form) {
  std::map<std::string, std::string> verdicts;
  std::set<const spec::FormData*> forms;
  for (std::string_view mnemonic : form.mnemonics) {
    for (const spec::FormData* other : specs.database().with_mnemonic(mnemonic)) forms.insert(other);
  }
  for (const spec::FormData* other : forms) {
    for (const Variant& variant : specs.variants(other->name)) {
      const std::string mask = mask_of(variant), operands = operands_of(variant);
      for (const std::string& line : lines_of(variant)) {
        std::string& known = verdicts[line + operands];
        if (known.empty()) known = mask;
        std::transform(known.begin(), known.end(), mask.begin(), known.begin(),
                       [](char a, char b) { return std::max(a, b); });
      }
    }
  }
  std::size_t hash = 0;
  for (const auto& [line, mask] : verdicts)
    hash = hash * 0x9E3779B97F4A7C15U + std::hash<std::string>{}(line + mask);
  return hash;
}

}  // namespace ptxloom::oracle
