// SPDX-License-Identifier: Apache-2.0
#include "oracle/neighbours/neighbourhood.hpp"

#include <algorithm>
#include <limits>
#include <unordered_set>

#include "oracle/instance.hpp"

namespace ptxloom::oracle {
namespace {

/// Whether a flag stands in the opcode twice.
bool repeats_a_flag(std::string_view opcode, const Words& words) {
  std::unordered_set<std::string_view> seen;
  for (std::string_view word : spec::split(opcode, '.')) {
    if (words.is_flag(word) && !seen.insert(word).second) return true;
  }
  return false;
}

}  // namespace

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Neighbourhood::Neighbourhood(const Question& question, std::span<const Variant> all)
    : form_(*all.front().data()->form),
      words_(question.specs, question.form, question.unread.of(question.form.name)),
      all_(all) {
  for (std::size_t slot = 0; slot < form_.slots().size(); ++slot) values_.push_back(values_for(slot));
  for (const Variant& variant : all_) number_values(*variant.data());
}

bool Neighbourhood::is_own(std::string_view value) const {
  for (int slot = 0; slot < static_cast<int>(values_.size()); ++slot) {
    const auto same = [&](const spec::Alternative& any) { return any.value == value; };
    if (std::ranges::any_of(form_.domain(slot), same)) return true;
  }
  return false;
}

bool Neighbourhood::is_optional(std::size_t slot) const {
  return std::ranges::any_of(form_.domain(static_cast<int>(slot)),
                             [](const spec::Alternative& any) { return any.value == spec::kAbsent; });
}

std::optional<std::string> Neighbourhood::opcode_with(const spec::VariantData& data,
                                                      std::span<const Change> changes) const {
  std::vector<std::string_view> values = data.values;
  std::vector<bool> hidden = data.hidden;
  for (const auto& [slot, value] : changes) {
    values[slot] = value;
    hidden[slot] = false;
  }
  std::string opcode = form_.opcode().render(values, hidden);
  if (!is_well_formed(opcode)) return std::nullopt;
  return opcode;
}

bool Neighbourhood::is_well_formed(std::string_view opcode) const {
  return opcode.find("..") == opcode.npos && !opcode.ends_with('.') && !opcode.starts_with('.') &&
         !repeats_a_flag(opcode, words_);
}

std::string Neighbourhood::change_of(const Change& change) const {
  return std::string(form_.slots().name(static_cast<int>(change.first))) + "=" + std::string(change.second);
}

std::vector<std::string> Neighbourhood::values_for(std::size_t slot) const {
  std::set<std::string> values;
  for (const spec::Alternative& any : form_.domain(static_cast<int>(slot))) values.emplace(any.value);
  const std::set<std::string> own = values;
  const auto& shown = form_.opcode().slots();
  if (std::find(shown.begin(), shown.end(), static_cast<int>(slot)) != shown.end()) {
    values.emplace(spec::kAbsent);
    for (const std::string& value : own) values.merge(words_.class_mates(value));
  }
  for (const std::string& value : own) {
    if (!is_number(value)) continue;
    const int number = std::stoi(value);
    for (int other : {number / 2, number * 2, number - 1, number + 1, 3 * number}) {
      if (other > 0) values.insert(std::to_string(other));
    }
  }
  return {values.begin(), values.end()};
}

std::vector<Operands> Neighbourhood::operands_for(const spec::VariantData& data,
                                                  std::span<const Change> changes) const {
  std::vector<Operands> result;
  std::vector<std::string_view> values = data.values;
  for (const auto& [slot, value] : changes) values[slot] = value;
  if (auto filled = fill(values)) result.push_back(std::move(*filled));
  for (const auto& [slot, value] : changes) {
    if (const spec::VariantData* other = nearest_with(data, slot, value)) {
      if (auto filled = fill(other->values)) result.push_back(std::move(*filled));
    }
    const spec::TypeData* const from = form_.vocabulary().type(data.values[slot]);
    const spec::TypeData* const to = form_.vocabulary().type(value);
    if (from != nullptr && to != nullptr && from->type.bits != to->type.bits) {
      if (auto filled = fill(data.values))
        result.push_back(retyped(std::move(*filled), from->type, to->type));
    }
  }
  return result;
}

std::optional<Operands> Neighbourhood::fill(spec::Values values) const {
  Operands operands;
  try {
    for (const spec::OperandTemplate& operand : form_.operands()) {
      const std::string text = operand.fill(values);
      operands.push_back(text.empty()
                             ? std::nullopt
                             : spec::parse_operand(operand, text, form_.vocabulary(), form_.place()));
    }
  } catch (const Error&) {
    return std::nullopt;  // no such type or count: nothing to write down
  }
  return operands;
}

/// Values as numbers, a row for each variant: comparing many thousands of texts for each change takes long.
void Neighbourhood::number_values(const spec::VariantData& data) {
  for (std::string_view value : data.values)
    rows_.push_back(numbers_.emplace(value, static_cast<std::uint16_t>(numbers_.size())).first->second);
}

std::uint16_t Neighbourhood::number_of(std::string_view value) const {
  const auto found = numbers_.find(value);
  return found == numbers_.end() ? std::numeric_limits<std::uint16_t>::max() : found->second;
}

const spec::VariantData* Neighbourhood::nearest_with(const spec::VariantData& data, std::size_t slot,
                                                     std::string_view value) const {
  std::vector<std::uint16_t> wanted;
  for (std::string_view own : data.values) wanted.push_back(number_of(own));
  const std::uint16_t changed = number_of(value);
  const spec::VariantData* best = nullptr;
  std::size_t most = 0;
  const std::uint16_t* row = rows_.data();
  for (std::size_t v = 0; v < all_.size(); ++v, row += wanted.size()) {
    if (row[slot] != changed) continue;
    std::size_t common = 1;
    for (std::size_t i = 0; i < wanted.size(); ++i) common += row[i] == wanted[i] ? 1U : 0U;
    if (common <= most) continue;
    most = common;
    best = all_[v].data();
  }
  return best;
}

/// Registers of the old type's size become as wide as the new one; of packed vectors, more or fewer.
Operands Neighbourhood::retyped(Operands operands, const Type& from, const Type& to) const {
  const spec::TypeData* const wanted =
      form_.vocabulary().type("b" + std::to_string(std::max<int>(8, to.whole_bytes() * 8)));
  for (std::optional<OperandSpec>& operand : operands) {
    if (!operand || operand->kind != OperandSpec::Kind::value || !operand->registers_allowed) continue;
    const bool packed = operand->count > 0 && operand->type.bits == 32 && from.bits < 32 && to.bits <= 32;
    if (packed)
      operand->count = std::max(1, operand->count * static_cast<int>(to.bits) / static_cast<int>(from.bits));
    if (operand->type.whole_bytes() == from.whole_bytes() && wanted != nullptr && !packed)
      operand->type = wanted->type;
  }
  return operands;
}

void Neighbourhood::add(const std::string& opcode, Operands operands, const Case& like,
                        std::vector<Case>& out) const {
  const spec::OperandList list =
      spec::lay_out(form_.operand_text(), form_.operand_names(), std::move(operands), form_.place());
  Case made = like;
  made.line = line_of(opcode, list.pieces, operand_texts(list.specs));
  out.push_back(std::move(made));
}

}  // namespace ptxloom::oracle
