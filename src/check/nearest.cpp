// SPDX-License-Identifier: Apache-2.0
#include "check/nearest.hpp"

#include <algorithm>
#include <vector>

#include "ir/fit.hpp"
#include "spec/database.hpp"

namespace ptxloom::check_rules {
namespace {

constexpr std::size_t kMostHints = 5;

// All types with the size of a register among these operands.
std::vector<std::string_view> types_of(const spec::Vocabulary& vocabulary, const ir::Kernel& kernel,
                                       std::span<const ir::Operand> operands) {
  std::vector<std::string_view> names;
  const auto add = [&](const ir::Operand& operand) {
    if (operand.kind != ir::Operand::Kind::reg || operand.index >= kernel.registers.size()) return;
    for (const Type& type : vocabulary.types())
      if (type.bits == kernel.registers[operand.index].type.bits) names.push_back(type.name);
  };
  for (const ir::Operand& operand : operands) {
    add(operand);
    if (operand.kind == ir::Operand::Kind::vector && operand.index < kernel.operands.size())
      add(kernel.operands[operand.index]);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

// The opcode with one of its types replaced, wherever it occurs.
std::string with_type(std::string_view opcode, std::string_view from, std::string_view to) {
  std::string text;
  for (std::size_t at = 0; at <= opcode.size();) {
    const std::size_t dot = std::min(opcode.find('.', at), opcode.size());
    const std::string_view word = opcode.substr(at, dot - at);
    text.append(at == 0 ? "" : ".").append(word == from ? to : word);
    at = dot + 1;
  }
  return text;
}

std::vector<std::string_view> types_in(std::string_view opcode) {
  std::vector<std::string_view> types;
  for (std::size_t at = 0; at <= opcode.size();) {
    const std::size_t dot = std::min(opcode.find('.', at), opcode.size());
    const std::string_view word = opcode.substr(at, dot - at);
    if (find_type(word) && std::find(types.begin(), types.end(), word) == types.end()) types.push_back(word);
    at = dot + 1;
  }
  return types;
}

bool takes(Variant variant, const ir::Kernel& kernel, std::span<const ir::Operand> operands) {
  return variant.operands().size() == operands.size() &&
         !ir::find_mismatch(kernel, variant.operands(), operands);
}

}  // namespace

std::string nearest_hint(const Specs& specs, Variant variant, const ir::Kernel& kernel,
                         std::span<const ir::Operand> operands, const Target& target) {
  const std::vector<std::string_view> types = types_of(specs.database().vocabulary(), kernel, operands);
  std::vector<std::string> found;
  for (const std::string_view from : types_in(variant.opcode())) {
    for (const std::string_view to : types) {
      const std::string opcode = with_type(variant.opcode(), from, to);
      const std::span<const Variant> others = specs.database().match(opcode);
      const bool fits = std::any_of(others.begin(), others.end(), [&](const Variant& other) {
        return !other.undocumented() && takes(other, kernel, operands) && other.since(target);
      });
      if (fits && std::find(found.begin(), found.end(), opcode) == found.end()) found.push_back(opcode);
    }
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(found.size(), kMostHints); ++i)
    text += (i == 0 ? "would take them: " : ", ") + found[i];
  return text;
}

std::string usage_of(Variant variant) {
  std::string text(variant.opcode());
  const std::span<const OperandSpec> places = variant.operands();
  for (std::size_t i = 0; i < places.size(); ++i)
    text += (i == 0 ? " " : ", ") + places[i].name + ": " + places[i].describe();
  return text;
}

}  // namespace ptxloom::check_rules
