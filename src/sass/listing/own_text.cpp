// SPDX-License-Identifier: Apache-2.0
#include "sass/listing/own_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "generated/issue.hpp"
#include "sass/instruction/table_text.hpp"

namespace ptxloom::sass {
namespace {

std::vector<std::vector<std::string>> rows_for(const nlohmann::json& table, int chip) {
  std::vector<std::vector<std::string>> rows;
  bool header = true;
  for (const auto& line : table) {
    std::vector<std::string> cells = split(line.get_ref<const std::string&>(), ' ');
    if (!header && has_chip(cells.at(1), chip)) rows.push_back(std::move(cells));
    header = false;
  }
  return rows;
}

constexpr std::int64_t kBranchUnit = 4;  // bytes

std::uint64_t value_of(const Word& word, const BitField& field) {
  std::uint64_t value = 0;
  for (const auto& [at, count] : field.parts) value = value << count | word.bits(at, count);
  return value;
}

/// The bits as a number with a sign.
std::int64_t signed_value_of(const Word& word, const BitField& field) {
  unsigned count = 0;
  for (const auto& part : field.parts) count += part.second;
  const std::uint64_t sign = std::uint64_t{1} << (count - 1);
  return static_cast<std::int64_t>((value_of(word, field) ^ sign) - sign);
}

/// "78:1+75:1": the upper bits first.
BitField field_in(const std::string& place) {
  BitField field;
  for (const std::string& part : split(place, '+')) {
    const std::vector<std::string> numbers = split(part, ':');
    field.parts.emplace_back(std::stoul(numbers.at(0)), std::stoul(numbers.at(1)));
  }
  return field;
}

/// "5=64,6=128"; "#" is the number itself, "#64x8" 64x and the number and one, times 8.
void read_values(const std::string& cell, BitField& field) {
  if (cell.starts_with('#')) {
    const std::size_t by = cell.find('x');
    field.before = by == cell.npos ? "0x" : cell.substr(1, by);
    field.factor = by == cell.npos ? 0 : static_cast<unsigned>(std::stoul(cell.substr(by + 1)));
    return;
  }
  for (const std::string& value : split(cell, ',')) {
    const std::size_t equals = value.find('=');
    field.values.emplace_back(std::stoul(value.substr(0, equals)), value.substr(equals + 1));
  }
}

/// What the bits stand for; empty: nothing.
std::string word_of(const Word& word, const BitField& field) {
  const std::uint64_t bits = value_of(word, field);
  if (field.factor > 0) return fmt::format("{}{}", field.before, (bits + 1) * field.factor);
  if (!field.before.empty()) return fmt::format("{}{:x}", field.before, bits);
  const auto value = std::ranges::find(field.values, bits, &std::pair<std::uint64_t, std::string>::first);
  return value == field.values.end() ? "" : value->second;
}

using Fields = std::map<std::string, std::vector<BitField>, std::less<>>;

Fields fields_in(const nlohmann::json& table, int chip) {
  Fields fields;
  for (const std::vector<std::string>& cells : rows_for(table, chip)) {
    BitField field = field_in(cells.at(2));
    if (cells.size() > 3) read_values(cells[3], field);
    for (const std::string& opcode : split(cells.at(0), '|')) fields[opcode].push_back(field);
  }
  return fields;
}

std::span<const BitField> fields_of(const Fields& fields, std::string_view opcode) {
  const auto found = fields.find(opcode);
  return found == fields.end() ? std::span<const BitField>() : found->second;
}

}  // namespace

OwnText::OwnText(int chip) {
  static const nlohmann::json data = nlohmann::json::parse(kIssue);
  modifiers_ = fields_in(data.at("bits"), chip);
  operands_ = fields_in(data.at("operands"), chip);
  constants_ = fields_in(data.at("constants"), chip);
  branches_ = fields_in(data.at("branches"), chip);
}

std::optional<Moved> OwnText::moved(std::string_view opcode, const Word& word) const {
  constexpr std::string_view kMove = "move";
  for (const BitField& form : fields_of(constants_, opcode)) {
    const std::string place = word_of(word, form);
    if (place == kMove) return Moved{};
    if (!place.empty()) return Moved{.constant = true, .value = value_of(word, field_in(place))};
  }
  return std::nullopt;
}

void OwnText::add_target(ListedFunction& function, std::size_t index, const BitField& target) const {
  ListedInstruction& one = function.instructions[index];
  const auto next = static_cast<std::int64_t>(one.offset) + kInstructionBytes;
  const std::int64_t to = next + kBranchUnit * signed_value_of(one.word, target);
  if (to < 0 || to % kInstructionBytes != 0) return;
  const auto place = static_cast<std::size_t>(to / kInstructionBytes);
  if (place >= function.instructions.size()) return;
  const std::string label = fmt::format(".L_{:x}", to);
  function.instructions[place].label = label;
  add_operand(one, fmt::format("`({})", label));
}

void OwnText::add_operand(ListedInstruction& one, const std::string& operand) {
  const bool first =
      one.text.find(' ', one.text.starts_with('@') ? one.text.find(' ') + 1 : 0) == std::string::npos;
  one.text += (first ? " " : ", ") + operand;
}

void OwnText::complete(ListedFunction& function) const {
  for (std::size_t i = 0; i < function.instructions.size(); ++i) {
    ListedInstruction& one = function.instructions[i];
    const std::string_view opcode = one.decoded.opcode;
    if (opcode.empty()) continue;
    std::string modifiers;
    for (const BitField& field : fields_of(modifiers_, opcode))
      if (const std::string word = word_of(one.word, field); !word.empty()) modifiers += '.' + word;
    const std::size_t guard = one.text.starts_with('@') ? one.text.find(' ') + 1 : 0;
    one.text.insert(guard + opcode.size(), modifiers);
    for (const BitField& field : fields_of(operands_, opcode))
      if (const std::string word = word_of(one.word, field); !word.empty()) add_operand(one, word);
    for (const BitField& field : fields_of(branches_, opcode)) add_target(function, i, field);
  }
}

}  // namespace ptxloom::sass
