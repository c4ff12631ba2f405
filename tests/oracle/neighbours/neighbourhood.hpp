// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "oracle/checks.hpp"
#include "oracle/words.hpp"

// What is tried in the slots of a form, and the operands that go with it: what other_words and unknown_words
// make their lines of.
namespace ptxloom::oracle {

using Change = std::pair<std::size_t, std::string_view>;  // slot, value
using Operands = std::vector<std::optional<OperandSpec>>;

bool is_number(std::string_view text);

class Neighbourhood {
 public:
  Neighbourhood(const Question& question, std::span<const Variant> all);

  const spec::Form& form() const { return form_; }
  const Words& words() const { return words_; }
  /// What is tried in a slot: all that the form knows there, and all words of their classes.
  const std::vector<std::string>& values(std::size_t slot) const { return values_[slot]; }
  /// Whether a slot of the form has the value.
  bool is_own(std::string_view value) const;
  /// Whether the word in the slot may be left out.
  bool is_optional(std::size_t slot) const;

  /// The opcode with other words in place of the variant's; none where a word is empty, or a flag repeated:
  /// other_spellings has those.
  std::optional<std::string> opcode_with(const spec::VariantData& data,
                                         std::span<const Change> changes) const;
  /// Whether other_spellings has it.
  bool is_well_formed(std::string_view opcode) const;
  /// "ftz=sat"
  std::string change_of(const Change& change) const;

  /// The operands to try with the changed words: those of the templates; those that a variant with the new
  /// value has; those that the new type would have instead of the old one. Only with the right operands does
  /// ptxas say anything of the words.
  std::vector<Operands> operands_for(const spec::VariantData& data, std::span<const Change> changes) const;
  /// Those of the form's templates; none where there is no such type or count.
  std::optional<Operands> fill(spec::Values values) const;
  /// The variant with this value that has most others in common.
  const spec::VariantData* nearest_with(const spec::VariantData& data, std::size_t slot,
                                        std::string_view value) const;

  /// Adds the line of an opcode and its operands.
  void add(const std::string& opcode, Operands operands, const Case& like, std::vector<Case>& out) const;

 private:
  std::vector<std::string> values_for(std::size_t slot) const;
  void number_values(const spec::VariantData& data);
  std::uint16_t number_of(std::string_view value) const;
  Operands retyped(Operands operands, const Type& from, const Type& to) const;

  const spec::Form& form_;
  Words words_;
  std::span<const Variant> all_;
  std::vector<std::vector<std::string>> values_;
  std::unordered_map<std::string_view, std::uint16_t> numbers_;  // of the values of variants
  std::vector<std::uint16_t> rows_;                              // the values of all variants as numbers
};

}  // namespace ptxloom::oracle
