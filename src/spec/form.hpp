// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "spec/arena.hpp"
#include "spec/cell.hpp"
#include "spec/form_data.hpp"
#include "spec/fragment.hpp"
#include "spec/need.hpp"
#include "spec/opcode_text.hpp"
#include "spec/operand_text.hpp"
#include "spec/template.hpp"

// A compiled form: slots numbered, cells parsed, the text cut into units. Compiling checks what is visible
// without joining the tables; lint.hpp joins them.
namespace ptxloom::spec {

struct Row {
  std::span<const Cell> cells;  // one per column of the table
  const Need* need = nullptr;
  bool lax = false;  // undocumented, but accepted by ptxas: of a `lax` table or a form that is so
  std::string_view text;
};

struct Table {
  std::vector<int> columns;  // slots
  std::vector<Row> rows;
};

/// Operands as some assemblers take them beyond the manual, in place of those of the same names.
struct LaxOperands {
  std::string_view releases;  // "13.0-13.1"
  const Need* need = nullptr;
  std::vector<OperandTemplate> operands;
};

class Form {
 public:
  /// Throws Error(usage, "spec-...") for malformed data.
  Form(const FormData& data, const Vocabulary& vocabulary);
  Form(const Form&) = delete;
  Form& operator=(const Form&) = delete;

  const FormData& data() const { return data_; }
  const Vocabulary& vocabulary() const { return vocabulary_; }
  Place place() const { return {.file = data_.file->name, .form = data_.name}; }
  const SlotNames& slots() const { return slots_; }
  const std::vector<Table>& tables() const { return tables_; }
  const OpcodeText& opcode() const { return opcode_; }
  std::string_view operand_text() const { return operand_text_; }
  const std::vector<OperandTemplate>& operands() const { return operands_; }
  std::span<const std::string_view> operand_names() const { return operand_names_; }
  /// One entry for each set of releases.
  const std::vector<LaxOperands>& lax_operands() const { return lax_operands_; }
  std::span<const FragmentTemplate> fragments() const { return fragments_; }
  /// How the form is tried on hardware: by operand, plus `before` and `after`.
  const std::vector<std::pair<std::string_view, Template>>& conform() const { return conform_; }
  const Need* need() const { return need_; }
  /// Words that have a need of their own, wherever they occur.
  std::span<const std::pair<std::string_view, const Need*>> word_needs() const { return word_needs_; }
  /// Whether the value may be left unwritten in some row.
  bool may_be_unwritten(int slot, std::string_view value) const;
  /// Every value that some table has for the slot.
  std::span<const Alternative> domain(int slot) const { return domains_[static_cast<std::size_t>(slot)]; }
  /// Whether tables have values for the slot; a slot without any is an error.
  bool has_column(int slot) const { return !domain(slot).empty(); }

 private:
  void compile_tables();
  void add_table(std::span<const std::string_view> lines);
  void add_lax(std::span<const std::string_view> lines);
  void add_mods();
  std::vector<std::string_view> header(std::string_view line) const;
  Row parse_row(std::string_view line, std::span<const std::string_view> header);
  void compile_text();
  void compile_lax_operands();
  OperandTemplate operand_template(std::string_view name, std::string_view text);
  void compile_needs();
  void gather_domains();
  void check_slots() const;
  const Need* need_of(std::string_view text);

  const FormData& data_;
  const Vocabulary& vocabulary_;
  Arena arena_;
  Sets sets_;
  SlotNames slots_;
  std::vector<Table> tables_;
  OpcodeText opcode_;
  std::string_view operand_text_;
  std::vector<OperandTemplate> operands_;
  std::vector<std::string_view> operand_names_;
  std::vector<LaxOperands> lax_operands_;
  std::vector<FragmentTemplate> fragments_;
  std::vector<std::pair<std::string_view, Template>> conform_;
  std::vector<std::vector<Alternative>> domains_;
  std::vector<std::pair<std::string_view, const Need*>> word_needs_;
  std::vector<std::pair<std::string_view, const Need*>> needs_;  // each distinct text once
  const Need* need_ = nullptr;
  std::vector<std::string_view> words_;  // scratch space for the row being parsed
  std::vector<Cell> cells_;
};

/// The part of a form's text before its first blank outside brackets, and the part after it, without ";".
std::pair<std::string_view, std::string_view> split_text(std::string_view text);

}  // namespace ptxloom::spec
