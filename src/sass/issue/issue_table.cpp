// SPDX-License-Identifier: Apache-2.0
#include "sass/issue/issue_table.hpp"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "generated/issue.hpp"
#include "sass/instruction/table_text.hpp"

namespace ptxloom::sass {
namespace {

constexpr int kMeasuredChip = 90;
constexpr std::string_view kClass = "class=", kGlobal = "global";

constexpr std::pair<std::string_view, IssueEffect> kEffects[] = {{"-", IssueEffect::none},
                                                                 {"copy", IssueEffect::copy},
                                                                 {"commit", IssueEffect::commit},
                                                                 {"drain", IssueEffect::drain},
                                                                 {"barrier", IssueEffect::barrier},
                                                                 {"group", IssueEffect::group},
                                                                 {"group_wait", IssueEffect::group_wait},
                                                                 {"poll", IssueEffect::poll},
                                                                 {"sleep", IssueEffect::sleep},
                                                                 {"expect", IssueEffect::expect},
                                                                 {"release", IssueEffect::release}};

double number_of(std::string_view text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// "4", "0.5n", "4a+0.25n"; "-" is 0.
IssueAmount amount_in(std::string_view text) {
  IssueAmount amount;
  for (const std::string& term : split(text, '+')) {
    double& part = term.ends_with('n')   ? amount.per_column
                   : term.ends_with('a') ? amount.of_a
                   : term.ends_with('b') ? amount.per_byte
                                         : amount.fixed;
    part += number_of(term);
  }
  return amount;
}

using Lines = std::vector<std::string>;

Lines rows_in(const nlohmann::json& table) { return table.get<Lines>(); }

/// "a b c and more" with 4 columns: the last has the rest.
std::vector<std::string> cells_of(const std::string& line, std::size_t columns) {
  std::vector<std::string> cells = split(line, ' ');
  for (std::size_t i = columns; i < cells.size(); ++i) cells[columns - 1] += ' ' + cells[i];
  cells.resize(std::min(cells.size(), columns));
  return cells;
}

IssueChip chip_in(const Lines& lines, int chip) {
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> cells = split(lines[i], ' ');
    if (has_chip(cells.at(0), chip))
      return {.schedulers = static_cast<int>(number_of(cells.at(1))),
              .dispatch = number_of(cells.at(2)),
              .banks = static_cast<int>(number_of(cells.at(3))),
              .window = number_of(cells.at(4)),
              .taken = number_of(cells.at(5)),
              .bubble = number_of(cells.at(6)),
              .wave = number_of(cells.at(7))};
  }
  return {};
}

std::vector<IssueUnit> units_in(const Lines& lines, int chip) {
  constexpr std::size_t kColumns = 6;
  std::vector<IssueUnit> units;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> cells = cells_of(lines[i], kColumns);
    units.push_back({.name = cells.at(0),
                     .of_sm = cells.at(1) == "sm",
                     .of_warp = cells.at(1) == "warp",
                     .queue = static_cast<int>(number_of(cells.at(2))),
                     .banks = cells.at(3) == "yes",
                     .assumed = !has_chip(cells.at(4), chip),
                     .what = cells.at(5)});
  }
  return units;
}

/// The operand with this number, from the end if it is less than 0; empty if there is none.
std::string_view operand_at(const InstructionText& text, int at) {
  const int count = static_cast<int>(text.operands.size());
  if (at < 0) at += count;
  return at < 0 || at >= count ? std::string_view() : text.operands[static_cast<std::size_t>(at)];
}

}  // namespace

IssueTable::IssueTable(int chip, LoadFrom from) : assumed_(chip != kMeasuredChip) {
  static const nlohmann::json data = nlohmann::json::parse(kIssue);
  chip_ = chip_in(rows_in(data.at("sms")), chip);
  units_ = units_in(rows_in(data.at("units")), chip);
  for (const auto& table : data.at("instructions"))
    if (has_chip(table.at("chips").get_ref<const std::string&>(), chip)) read_rows(rows_in(table.at("rows")));
  read_loads(rows_in(data.at("loads")), chip, from);
  read_amounts(rows_in(data.at("amounts")));
}

void IssueTable::read_rows(const Lines& lines) {
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> cells = split(lines[i], ' ');
    std::string latency = cells.at(3);
    IssueRow row{.modifiers = cells.at(1), .uses = uses_of(cells.at(2)), .latency = {}};
    row.of_class = cells.at(0).starts_with(kClass);
    row.banks =
        std::ranges::any_of(row.uses, [&](const IssueUse& use) { return units_[use.units.front()].banks; });
    row.fixed = latency == "-";
    row.global = latency.starts_with(kGlobal);
    if (row.global) latency.erase(0, kGlobal.size());
    row.latency = amount_in(latency);
    row.read = number_of(cells.at(4));
    row.operations = amount_in(cells.at(5));
    row.effect =
        std::ranges::find(kEffects, cells.at(6), &std::pair<std::string_view, IssueEffect>::first)->second;
    if (row.of_class)
      types_[cells.at(0).substr(kClass.size())].push_back(row);
    else
      for (const std::string& opcode : split(cells.at(0), '|')) opcodes_[opcode].push_back(row);
  }
}

/// "fma_heavy/2|fma_lite/2"
IssueUse IssueTable::use_of(std::string_view text) const {
  IssueUse use;
  for (const std::string& one : split(text, '|')) {
    const std::size_t slash = one.find('/');
    const auto unit = std::ranges::find(units_, one.substr(0, slash), &IssueUnit::name);
    use.units.push_back(static_cast<std::size_t>(unit - units_.begin()));
    use.cycles = amount_in(one.substr(slash + 1));
  }
  return use;
}

std::vector<IssueUse> IssueTable::uses_of(const std::string& cell) const {
  std::vector<IssueUse> uses;
  if (cell == "-") return uses;
  for (const std::string& one : split(cell, ',')) uses.push_back(use_of(one));
  return uses;
}

void IssueTable::read_loads(const Lines& lines, int chip, LoadFrom from) {
  const std::size_t column = 1 + static_cast<std::size_t>(from);
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> cells = split(lines[i], ' ');
    const bool wanted = has_chip(cells.at(0), chip);
    if (wanted || (load_ == 0 && has_chip(cells.at(0), kMeasuredChip))) load_ = number_of(cells.at(column));
    if (wanted) return;
  }
}

const IssueRow* IssueTable::row_of(const InstructionText& text, std::string_view type) const {
  const auto first = [&](const auto& rows) -> const IssueRow* {
    for (const IssueRow& row : rows)
      if (row.modifiers == "-" || text.has(row.modifiers)) return &row;
    return nullptr;
  };
  if (const auto rows = opcodes_.find(text.opcode); rows != opcodes_.end())
    if (const IssueRow* row = first(rows->second)) return row;
  const auto rows = types_.find(type);
  return rows == types_.end() ? nullptr : first(rows->second);
}

const IssueRow* IssueTable::expect_row() const {
  for (const auto& [opcode, rows] : opcodes_)
    for (const IssueRow& row : rows)
      if (row.effect == IssueEffect::expect) return &row;
  return nullptr;
}

double IssueTable::latency_of(const IssueRow& row, const IssueSize& size) const {
  return row.latency.at(size) + (row.global ? load_ : 0);
}

void IssueTable::read_amounts(const Lines& lines) {
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> cells = split(lines[i], ' ');
    for (const std::string& opcode : split(cells.at(1), '|')) {
      if (cells.at(0) == "n") columns_[opcode] = '.' + cells.at(3);
      if (cells.at(0) == "a") a_[opcode] = std::stoi(cells.at(3));
      if (cells.at(0) == "b") bytes_[opcode] = std::stoi(cells.at(3));
    }
  }
}

IssueSize IssueTable::size_of(const InstructionText& text) const {
  IssueSize size;
  if (const auto before = columns_.find(text.opcode); before != columns_.end()) {
    const std::size_t at = text.modifiers.find(before->second);
    if (at == std::string::npos) return size;
    const char* const begin = text.modifiers.data() + at + before->second.size();
    std::from_chars(begin, text.modifiers.data() + text.modifiers.size(), size.columns);
  }
  if (const auto a = a_.find(text.opcode); a != a_.end())
    size.shared_a = !operand_at(text, a->second).starts_with('R');
  return size;
}

std::string_view IssueTable::bytes_operand(const InstructionText& text) const {
  const auto at = bytes_.find(text.opcode);
  return at == bytes_.end() ? std::string_view() : operand_at(text, at->second);
}

}  // namespace ptxloom::sass
