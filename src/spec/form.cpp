// SPDX-License-Identifier: Apache-2.0
#include "spec/form.hpp"

#include <algorithm>

namespace ptxloom::spec {

std::pair<std::string_view, std::string_view> split_text(std::string_view text) {
  if (text.ends_with(';')) text.remove_suffix(1);
  int depth = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    depth += text[at] == '<' ? 1 : text[at] == '>' ? -1 : 0;
    if (text[at] == ' ' && depth == 0) return {text.substr(0, at), text.substr(at + 1)};
  }
  return {text, {}};
}

Form::Form(const FormData& data, const Vocabulary& vocabulary)
    : data_(data),
      vocabulary_(vocabulary),
      sets_(data.sets, data.file->sets, arena_, {.file = data.file->name, .form = data.name}) {
  compile_tables();
  compile_text();
  compile_needs();
  gather_domains();
  check_slots();
  opcode_.enumerate(
      [this](int slot) {
        std::vector<std::string_view> values;
        for (const Alternative& any : domain(slot)) {
          if (any.spelling != Spelling::implied) values.push_back(any.value);
        }
        return values;
      },
      slots_.size(), vocabulary_);
}

const Need* Form::need_of(std::string_view text) {
  const auto same = std::ranges::find(needs_, text, &std::pair<std::string_view, const Need*>::first);
  if (same != needs_.end()) return same->second;
  const Need* const need = arena_.keep_one(parse_need(text, sets_, vocabulary_, place()));
  return needs_.emplace_back(text, need).second;
}

std::vector<std::string_view> Form::header(std::string_view line) const {
  const auto names = split(line, ' ');
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
        names.begin() + static_cast<std::ptrdiff_t>(i)) {
      fail("spec-table", place(),
           "the header " + quote(line) + " names the column " + quote(names[i]) + " twice");
    }
  }
  return names;
}

Row Form::parse_row(std::string_view line, std::span<const std::string_view> names) {
  words_.clear();
  split(line, ' ', words_);
  const auto& texts = words_;
  if (texts.size() > names.size()) {
    fail("spec-too-many-cells", place(),
         "the row " + quote(line) + " has " + std::to_string(texts.size()) + " cells for " +
             std::to_string(names.size()) + " columns");
  }
  Row row{.cells = {}, .text = line};
  cells_.clear();
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string_view text = i < texts.size() ? texts[i] : "*";
    if (names[i] != "need") {
      Cell& cell = cells_.emplace_back(parse_cell(text, sets_));
      if (cell.kind == Cell::Kind::same_as) cell.slot = slots_.add(cell.column);
    } else if (text != "*") {
      row.need = need_of(text);
    }
  }
  row.cells = arena_.keep(std::span<const Cell>(cells_));
  return row;
}

void Form::add_table(std::span<const std::string_view> lines) {
  const auto names = header(lines.front());
  Table& table = tables_.emplace_back();
  for (std::string_view name : names) {
    if (name != "need") table.columns.push_back(slots_.add(name));
  }
  table.rows.reserve(lines.size());
  for (std::string_view line : lines.subspan(1)) {
    table.rows.push_back(parse_row(line, names));
    table.rows.back().lax = !data_.undocumented.empty();
  }
}

void Form::add_lax(std::span<const std::string_view> lines) {
  // Adds rows to the table with the same columns, in any order; a `need` column may be added.
  const auto names = header(lines.front());
  std::vector<int> columns;
  for (std::string_view name : names) {
    if (name != "need") columns.push_back(slots_.add(name));
  }
  for (Table& table : tables_) {
    if (!std::is_permutation(columns.begin(), columns.end(), table.columns.begin(), table.columns.end()))
      continue;
    for (std::string_view line : lines.subspan(1)) {
      Row row = parse_row(line, names);
      std::vector<Cell> cells(row.cells.size());
      for (std::size_t i = 0; i < columns.size(); ++i) {
        const auto at =
            std::find(table.columns.begin(), table.columns.end(), columns[i]) - table.columns.begin();
        cells[static_cast<std::size_t>(at)] = row.cells[i];
      }
      row.cells = arena_.keep(std::move(cells));
      row.lax = true;
      table.rows.push_back(std::move(row));
    }
    return;
  }
  fail("spec-table", place(), "no table has the columns of the lax table " + quote(lines.front()),
       "use the columns of one of the form's tables: a lax table has further rows for it");
}

void Form::add_mods() {
  for (const Entry& mod : data_.mods) {
    Table& table = tables_.emplace_back();
    table.columns.push_back(slots_.add(mod.key));
    table.rows.push_back({.cells = {arena_.keep_one(parse_cell(mod.value, sets_)), 1},
                          .lax = !data_.undocumented.empty(),
                          .text = mod.value});
  }
}

void Form::compile_tables() {
  tables_.reserve(data_.mods.size() + data_.tables.size());
  add_mods();
  for (const TableData& table : data_.tables) add_table(table.lines);
  for (const TableData& table : data_.lax) add_lax(table.lines);
}

OperandTemplate Form::operand_template(std::string_view name, std::string_view text) {
  OperandTemplate operand;
  operand.name = name;
  if (const std::size_t mark = text.rfind(" ?"); mark != text.npos) {
    operand.present_if = slots_.add(text.substr(mark + 2));
    text = text.substr(0, mark);
  }
  operand.text = Template::parse(text, slots_, place());
  operand.literal = text.starts_with("lit ");
  operand.find_type(opcode_.slots());
  return operand;
}

/// "A B": "in b32[-2] /13.0-13.1"
void Form::compile_lax_operands() {
  for (const Entry& op : data_.lax_ops) {
    const std::size_t mark = op.value.rfind(" /");
    if (mark == op.value.npos)
      fail("spec-operand", place(), "the lax operand " + quote(op.key) + " names no assemblers",
           "end it with the releases of CUDA that take it: in b32[-2] /13.0-13.1");
    const std::string_view releases = op.value.substr(mark + 1);
    auto group = std::ranges::find(lax_operands_, releases, &LaxOperands::releases);
    if (group == lax_operands_.end())
      group = lax_operands_.insert(group, {.releases = releases, .need = need_of(releases), .operands = {}});
    for (std::string_view name : split(op.key, ' ')) {
      if (std::ranges::find(operand_names_, name) == operand_names_.end())
        fail("spec-operand", place(), "the lax operand " + quote(name) + " is not one of the form's");
      group->operands.push_back(operand_template(name, op.value.substr(0, mark)));
    }
  }
}

void Form::compile_text() {
  const auto [opcode, rest] = split_text(data_.text);
  opcode_.parse(opcode, slots_, place());
  operand_text_ = rest;
  for (const Entry& op : data_.ops) {
    for (std::string_view name : split(op.key, ' ')) {
      operands_.push_back(operand_template(name, op.value));
      operand_names_.push_back(name);
    }
  }
  compile_lax_operands();
  for (const FragmentData& map : data_.frags) fragments_.emplace_back(map, slots_, place());
  for (const Entry& entry : data_.select) Template::parse(entry.value, slots_, place());
  for (const Entry& entry : data_.conform) {
    for (std::string_view name : split(entry.key, ' '))
      conform_.emplace_back(name, Template::parse(entry.value, slots_, place()));
  }
}

void Form::compile_needs() {
  const std::string_view need = data_.need.empty() ? data_.file->need : data_.need;
  if (!need.empty()) need_ = need_of(need);
  for (const auto entries : {data_.needs, data_.file->needs}) {
    for (const Entry& entry : entries) {
      for (std::string_view word : split(entry.key, ' ')) {
        const bool known = std::any_of(word_needs_.begin(), word_needs_.end(),
                                       [&](const auto& item) { return item.first == word; });
        if (!known) word_needs_.emplace_back(word, need_of(entry.value));
      }
    }
  }
}

void Form::gather_domains() {
  domains_.resize(slots_.size());
  const auto add = [&](int slot, std::span<const Alternative> values) {
    auto& domain = domains_[static_cast<std::size_t>(slot)];
    for (const Alternative& value : values) {
      const auto same = std::find_if(domain.begin(), domain.end(),
                                     [&](const Alternative& a) { return a.value == value.value; });
      if (same == domain.end()) {
        domain.push_back(value);
      } else if (value.spelling == Spelling::optional || same->spelling != value.spelling) {
        same->spelling = Spelling::optional;  // some rows write it, some do not
      }
    }
  };
  const auto each_cell = [&](Cell::Kind kind, auto&& visit) {
    for (const Table& table : tables_) {
      for (const Row& row : table.rows) {
        for (std::size_t i = 0; i < row.cells.size(); ++i) {
          if (row.cells[i].kind == kind) visit(table.columns[i], row.cells[i]);
        }
      }
    }
  };
  std::vector<const Alternative*> last(slots_.size());  // for sets, which consecutive rows repeat
  each_cell(Cell::Kind::one_of, [&](int slot, const Cell& cell) {
    const Alternative*& known = last[static_cast<std::size_t>(slot)];
    if (known != cell.values.data()) add(slot, cell.values);
    known = cell.values.data();
  });
  each_cell(Cell::Kind::same_as, [&](int slot, const Cell& cell) {
    const std::vector<Alternative> source = domains_[static_cast<std::size_t>(cell.slot)];
    add(slot, source);
  });
}

bool Form::may_be_unwritten(int slot, std::string_view value) const {
  if (value == kAbsent) return true;
  for (const Alternative& any : domain(slot)) {
    if (any.value == value) return any.spelling != Spelling::written;
  }
  return false;
}

void Form::check_slots() const {
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    if (has_column(static_cast<int>(slot))) continue;
    fail("spec-unbound-slot", place(),
         "no table gives the slot " + quote(slots_.name(static_cast<int>(slot))) + " a value",
         "add a column of that name to a table, or an entry to mods");
  }
  for (const Entry& entry : data_.alias) {
    if (std::find(operand_names_.begin(), operand_names_.end(), entry.value) == operand_names_.end()) {
      fail("spec-operand", place(),
           "the alias " + quote(entry.key) + " is of an unknown operand " + quote(entry.value));
    }
  }
}

}  // namespace ptxloom::spec
