// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ptxloom/specs.hpp"
#include "spec/form.hpp"
#include "spec/join.hpp"

// Variants are made from joined rows and owned by their form: one object for each distinct opcode and list of
// operands. Rows that differ only in immediates are one variant whose immediate has several choices; rows
// that differ only in needs are one variant that any of the needs allows.
namespace ptxloom::spec {

/// An operand list that is parsed on first use: of the hundred special registers of `mov.u32`, each a variant
/// of its own, a kernel uses three.
class LazyOperands {
 public:
  /// The operands of the form with their slots filled in; "" for an absent one.
  LazyOperands(const Form& form, std::vector<std::string> texts) : form_(form), texts_(std::move(texts)) {}

  /// Throws "spec-..." for errors that lint has not seen.
  const OperandList& get() const {
    const OperandList* const list = read_.load(std::memory_order_acquire);
    return list != nullptr ? *list : read();
  }

 private:
  const OperandList& read() const;

  const Form& form_;
  const std::vector<std::string> texts_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<const OperandList> owned_;
  mutable std::atomic<const OperandList*> read_ = nullptr;
};

struct VariantData {
  const Form* form = nullptr;
  std::string opcode;
  std::vector<std::string_view> values;  // by slot
  std::vector<bool> hidden;              // by slot: a default that the opcode leaves unwritten
  const LazyOperands* operands = nullptr;
  std::vector<Needs> needs;  // any one suffices
  bool lax = false;

  std::string_view value(int slot) const { return values[static_cast<std::size_t>(slot)]; }
  /// Whether the opcode does not show the slot: it is absent, or an unwritten default.
  bool unwritten(int slot) const { return value(slot) == kAbsent || hidden[static_cast<std::size_t>(slot)]; }
};

/// A form and its variants so far. Not thread-safe; Database guards it.
class FormVariants {
 public:
  FormVariants(const FormData& data, const Vocabulary& vocabulary) : form_(data, vocabulary) {}

  const Form& form() const { return form_; }

  /// The variants whose opcode reads like this. If any reading is in the order of the text, only the variants
  /// of those readings.
  void match(std::string_view opcode, std::vector<Variant>& out);
  /// The variants with exactly this joined row's opcode.
  const std::vector<Variant>& of(const Joined& row, const std::vector<bool>& hidden);
  /// All variants, in table order.
  const std::vector<Variant>& all();

 private:
  using Group = std::vector<std::pair<const Joined*, std::vector<bool>>>;

  struct Draft {
    const Joined* row;
    const std::vector<bool>* hidden;
    std::vector<std::string> operands;
    std::string key;  // of the operands without immediates
    Needs needs;
    bool lax = false;
  };

  const std::vector<Variant>& of_bindings(const std::vector<Binding>& bindings);
  std::vector<Variant> make(const std::string& opcode, const Group& rows);
  std::vector<Draft> drafts_of(const Group& rows) const;
  void add_lax_operands(const Group& rows, std::vector<Draft>& drafts) const;
  void check_one_meaning(const std::string& opcode, const Group& rows) const;
  const LazyOperands* operand_list(const std::vector<std::string>& texts);

  Form form_;
  std::deque<VariantData> data_;
  std::unordered_map<std::string, std::vector<Variant>> by_opcode_;
  std::unordered_map<std::string, std::unique_ptr<LazyOperands>> operand_lists_;
  std::vector<Variant> all_;
  const std::vector<Variant> none_;
  bool complete_ = false;
};

}  // namespace ptxloom::spec
