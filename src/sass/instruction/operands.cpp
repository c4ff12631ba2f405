// SPDX-License-Identifier: Apache-2.0
#include "sass/instruction/operands.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "generated/operands.hpp"
#include "sass/instruction/table_text.hpp"

namespace ptxloom::sass {
namespace {

constexpr int kPredicates = 7;
constexpr char kPredicateOperand = 'p', kGuard = 'g';

struct OperandWord {
  std::string_view text;    ///< "R2"
  std::string_view suffix;  ///< "64" of "R2.64"; empty: none
};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$'; }

std::vector<OperandWord> words_in(std::string_view text) {
  std::vector<OperandWord> words;
  for (std::size_t at = 0; at < text.size();) {
    if (!is_word(text[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && is_word(text[end])) ++end;
    OperandWord word{text.substr(at, end - at), {}};
    if (end < text.size() && text[end] == '.') {
      at = ++end;
      while (end < text.size() && is_word(text[end])) ++end;
      word.suffix = text.substr(at, end - at);
    }
    words.push_back(word);
    at = end;
  }
  return words;
}

/// The number of "R12" for the prefix "R"; nothing for RZ and other words.
std::optional<int> number_after(std::string_view word, std::string_view prefix) {
  if (!word.starts_with(prefix)) return std::nullopt;
  word.remove_prefix(prefix.size());
  int value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size() || value < 0) return std::nullopt;
  return value;
}

struct FilePrefix {
  std::string_view prefix;
  RegisterId first, last;
};
constexpr FilePrefix kFiles[] = {{"R", 0, kFirstUniform - 1},
                                 {"UR", kFirstUniform, kFirstPredicate - 1},
                                 {"P", kFirstPredicate, kFirstPredicate + kPredicates - 1},
                                 {"UP", kFirstUniformPredicate, kFirstUniformPredicate + kPredicates - 1}};

bool is_predicate(std::string_view operand) {
  if (operand.starts_with('!')) operand.remove_prefix(1);
  if (operand == "PT" || operand == "UPT") return true;
  const auto id = register_of(operand);
  return id && *id >= kFirstPredicate;
}

/// "PR": the predicates that the last operand, a mask, has bits of.
bool is_all_predicates(std::string_view operand) { return operand == "PR" || operand == "UPR"; }

unsigned mask_of(const InstructionText& text) {
  const std::string_view last = text.operands.back();
  unsigned mask = (1U << kPredicates) - 1;
  if (last.starts_with("0x")) std::from_chars(last.data() + 2, last.data() + last.size(), mask, 16);
  return mask;
}

/// Adds the registers of operands to lists.
class OperandReader {
 public:
  OperandReader(const InstructionText& text, int chip) : text_(text), chip_(chip) {}

  void predicate(std::string_view operand, char letter, std::vector<RegisterUse>& to) const {
    if (operand.starts_with('!')) operand.remove_prefix(1);
    if (is_all_predicates(operand)) {
      const RegisterId first = operand == "PR" ? kFirstPredicate : kFirstUniformPredicate;
      for (int i = 0; i < kPredicates; ++i)
        if ((mask_of(text_) >> i & 1U) != 0) to.push_back({static_cast<RegisterId>(first + i), letter, 0});
    } else if (const auto id = register_of(operand)) {
      to.push_back({*id, letter, 0});
    }
  }

  /// `width`: registers of the operand; less than 0: what its text says.
  void registers(std::string_view operand, char letter, int width, std::vector<RegisterUse>& to) const {
    if (width == 0) return;
    const bool wide_address = operand.find(".64") != operand.npos || operand.find(".U32") != operand.npos;
    const std::size_t bracket = operand.find('[');
    const bool address = bracket == 0 || operand.starts_with("desc[");
    bool in_descriptor = operand.starts_with("desc[") || operand.starts_with("cx[");
    for (const OperandWord& word : words_in(operand)) {
      const auto id = register_of(word.text);
      if (!id) continue;
      int count = 1;
      if (width > 0) {
        count = width;
      } else if (in_descriptor || word.suffix == "64" || (address && is_pair(*id, word, wide_address))) {
        count = 2;
      }
      in_descriptor = false;
      // No further than the registers of its file, as damaged code may ask.
      for (int i = 0; i < count && file_of(static_cast<RegisterId>(*id + i)) == file_of(*id); ++i)
        to.push_back({static_cast<RegisterId>(*id + i), letter, static_cast<std::uint8_t>(i)});
    }
  }

 private:
  /// Whether a register in the brackets of an address is the first of two. Before sm_80 the text does not
  /// mark 64-bit addresses, which the modifier E tells.
  bool is_pair(RegisterId id, const OperandWord& word, bool wide_address) const {
    const bool uniform = file_of(id) == RegisterFile::uniform;
    if (uniform) return wide_address;
    return chip_ < 80 && text_.has("E") && word.suffix != "U32";
  }

  const InstructionText& text_;
  int chip_;
};

template <typename Table, typename Add>
void read_rows(const Table& rows, const Add& add) {
  bool header = true;
  for (const auto& row : rows) {
    if (!header) add(split(row.template get_ref<const std::string&>(), ' '));
    header = false;
  }
}

constexpr std::pair<std::string_view, Results> kResults[] = {{"fixed", Results::fixed},
                                                             {"variable", Results::variable},
                                                             {"either", Results::either},
                                                             {"other", Results::other}};
constexpr std::pair<std::string_view, Flow> kFlows[] = {
    {"branch", Flow::branch}, {"end", Flow::end},   {"call", Flow::call},
    {"region", Flow::region}, {"sync", Flow::sync}, {"collective", Flow::collective}};

template <typename Value, std::size_t N>
Value named(const std::pair<std::string_view, Value> (&names)[N], std::string_view name) {
  return std::ranges::find(names, name, &std::pair<std::string_view, Value>::first)->second;
}

}  // namespace

std::optional<RegisterId> register_of(std::string_view word) {
  for (const FilePrefix& file : kFiles)
    if (const auto number = number_after(word, file.prefix); number && *number <= file.last - file.first)
      return static_cast<RegisterId>(file.first + *number);
  return std::nullopt;
}

RegisterFile file_of(RegisterId id) {
  if (id < kFirstUniform) return RegisterFile::general;
  if (id < kFirstPredicate) return RegisterFile::uniform;
  return id < kFirstUniformPredicate ? RegisterFile::predicate : RegisterFile::uniform_predicate;
}

std::string register_name(RegisterId id) {
  const FilePrefix& file = kFiles[static_cast<std::size_t>(file_of(id))];
  return std::string(file.prefix) + std::to_string(id - file.first);
}

OperandTable::OperandTable() {
  const nlohmann::json data = nlohmann::json::parse(kOperands);
  read_rows(data.at("classes"), [&](const std::vector<std::string>& cells) {
    const auto cell = [&](std::size_t at) { return cells.at(at) == "-" ? std::string() : cells.at(at); };
    types_[cells.at(0)] = {.results = named(kResults, cells.at(1)),
                           .order = cell(2),
                           .queue = cell(3),
                           .late_uniform = cell(4) == "R+UR"};
  });
  read_rows(data.at("opcodes"), [&](const std::vector<std::string>& cells) {
    const Role role{.modifiers = cells.at(1),
                    .type = types_.find(cells.at(2))->first,
                    .predicates = std::stoi(cells.at(3)),
                    .registers = std::stoi(cells.at(4)),
                    .carries = std::stoi(cells.at(5))};
    for (const std::string& opcode : split(cells.at(0), '|')) roles_[opcode].push_back(role);
  });
  read_rows(data.at("widths"), [&](const std::vector<std::string>& cells) {
    for (const std::string& opcode : split(cells.at(0), '|'))
      widths_[opcode].push_back({cells.at(1), cells.at(2).front(), std::stoi(cells.at(3))});
  });
  read_rows(data.at("suffixes"), [&](const std::vector<std::string>& cells) {
    for (const std::string& opcode : split(cells.at(0), '|'))
      suffixes_[opcode].emplace_back('.' + cells.at(1), std::stoi(cells.at(2)));
  });
  read_rows(data.at("drains"), [&](const std::vector<std::string>& cells) {
    drains_[cells.at(0)].emplace_back(cells.at(1), cells.at(2) == "-" ? "" : cells.at(2));
  });
  read_rows(data.at("clears"),
            [&](const std::vector<std::string>& cells) { clears_[cells.at(0)] = cells.at(1); });
  read_rows(data.at("flow"),
            [&](const std::vector<std::string>& cells) { flows_[cells.at(0)] = named(kFlows, cells.at(1)); });
}

const OperandTable& OperandTable::compiled() {
  static const OperandTable table;
  return table;
}

const OperandTable::Role* OperandTable::role_of(const InstructionText& text) const {
  const auto rows = roles_.find(text.opcode);
  if (rows == roles_.end()) return nullptr;
  for (const Role& role : rows->second)
    if (role.modifiers == "-" || text.has(role.modifiers)) return &role;
  return nullptr;
}

int OperandTable::width_of(const InstructionText& text, std::string_view operand, char letter) const {
  if (const auto endings = suffixes_.find(text.opcode); endings != suffixes_.end())
    for (const auto& [suffix, registers] : endings->second)
      if (operand.ends_with(suffix)) return registers;
  const auto rows = widths_.find(text.opcode);
  if (rows == widths_.end()) return -1;
  for (const Width& width : rows->second)
    if ((width.operand == letter || width.operand == '*') &&
        (width.modifiers == "-" || text.has(width.modifiers)))
      return width.registers;
  return -1;
}

Uses OperandTable::uses_of(const InstructionText& text, int chip) const {
  Uses uses;
  if (const auto flow = flows_.find(text.opcode); flow != flows_.end()) uses.flow = flow->second;
  const OperandReader reader(text, chip);
  if (!text.guard.empty()) reader.predicate(text.guard, kGuard, uses.reads);
  const Role* const role = role_of(text);
  if (role == nullptr) return uses;
  uses.type = role->type;
  const Type& type = types_.find(role->type)->second;
  uses.results = type.results;
  uses.order = type.order;
  uses.queue = type.queue;
  uses.late_uniform = type.late_uniform;
  if (const auto rows = drains_.find(text.opcode); rows != drains_.end()) {
    const auto row = std::ranges::find_if(rows->second, [&](const auto& one) { return text.has(one.first); });
    if (row != rows->second.end()) uses.drains = row->second;
  }
  if (const auto row = clears_.find(text.opcode); row != clears_.end())
    uses.clears = std::ranges::find(text.operands, row->second) != text.operands.end();
  auto at = text.operands.begin();
  const auto written = [&](int most, bool also_all) {
    for (int i = 0; i < most && at != text.operands.end(); ++i, ++at) {
      if (!is_predicate(*at) && !(also_all && is_all_predicates(*at))) break;
      reader.predicate(*at, kPredicateOperand, uses.writes);
    }
  };
  written(role->predicates, true);
  for (int i = 0; i < role->registers; ++i) {
    if (at == text.operands.end() || is_predicate(*at) || at->find('[') != at->npos) break;
    reader.registers(*at, 'd', std::max(width_of(text, *at, 'd'), 1), uses.writes);
    ++at;
    if (i + 1 == role->registers) written(role->carries, false);
  }
  for (char letter = 'a'; at != text.operands.end(); ++at) {
    if (is_predicate(*at) || is_all_predicates(*at)) {
      reader.predicate(*at, kPredicateOperand, uses.reads);
      continue;
    }
    reader.registers(*at, letter, width_of(text, *at, letter), uses.reads);
    letter = static_cast<char>(letter == 'c' ? 'e' : letter + 1);
  }
  return uses;
}

}  // namespace ptxloom::sass
