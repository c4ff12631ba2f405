// SPDX-License-Identifier: Apache-2.0
#include "spec/variant.hpp"

#include <algorithm>

namespace ptxloom::spec {
namespace {

constexpr std::string_view kImmediate = "imm ";

/// The slots of the opcode that this row may leave unwritten, and those that it never writes.
struct Unwritten {
  std::vector<int> optional;
  std::vector<bool> hidden;  // the implied ones
};

Unwritten unwritten_of(const Form& form, const Joined& row) {
  Unwritten result{.optional = {}, .hidden = std::vector<bool>(row.values.size())};
  for (int slot : form.opcode().slots()) {
    const auto at = static_cast<std::size_t>(slot);
    if (row.values[at] == kAbsent) continue;
    if (row.spellings[at] == Spelling::implied) result.hidden[at] = true;
    if (row.spellings[at] == Spelling::optional) result.optional.push_back(slot);
  }
  return result;
}

/// The operands of a row, slots filled in; "" for an absent one.
std::vector<std::string> operand_texts(const Form& form, const Joined& row) {
  std::vector<std::string> texts;
  for (const OperandTemplate& operand : form.operands()) texts.push_back(operand.fill(row.values));
  return texts;
}

/// Adds the choices of `from` to an immediate's text: "imm 0" and "imm 1" make "imm 0|1".
void add_choices(std::string& into, const std::string& from) {
  const std::string_view added = std::string_view(from).substr(kImmediate.size());
  const auto known = split(std::string_view(into).substr(kImmediate.size()), '|');
  if (std::find(known.begin(), known.end(), added) == known.end()) into += '|' + std::string(added);
}

/// Equal for two rows whose operands differ at most in immediates.
std::string key_without_immediates(const std::vector<std::string>& operands) {
  std::string key;
  for (const std::string& text : operands) {
    key += text.starts_with(kImmediate) ? kImmediate : text;
    key += '\n';
  }
  return key;
}

}  // namespace

const OperandList& LazyOperands::read() const {
  const std::lock_guard lock(mutex_);
  if (owned_ == nullptr) {
    std::vector<std::optional<OperandSpec>> operands;
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      operands.push_back(texts_[i].empty() ? std::nullopt
                                           : parse_operand(form_.operands()[i], texts_[i], form_.vocabulary(),
                                                           form_.place()));
    }
    owned_ = std::make_unique<const OperandList>(
        lay_out(form_.operand_text(), form_.operand_names(), std::move(operands), form_.place()));
    read_.store(owned_.get(), std::memory_order_release);
  }
  return *owned_;
}

const LazyOperands* FormVariants::operand_list(const std::vector<std::string>& texts) {
  std::string key;
  for (const std::string& text : texts) key += text + '\n';
  auto& list = operand_lists_[key];
  if (list == nullptr) list = std::make_unique<LazyOperands>(form_, texts);
  return list.get();
}

/// The same opcode must not result from two different sets of written words.
void FormVariants::check_one_meaning(const std::string& opcode, const Group& rows) const {
  const auto written = [&](std::size_t row, int slot) {
    const auto at = static_cast<std::size_t>(slot);
    return rows[row].second[at] ? kAbsent : rows[row].first->values[at];
  };
  for (std::size_t row = 1; row < rows.size(); ++row) {
    for (int slot : form_.opcode().slots()) {
      if (written(row, slot) == written(0, slot)) continue;
      fail("spec-two-meanings", form_.place(),
           "the opcode " + quote(opcode) + " can be read in two ways: the slot " +
               quote(form_.slots().name(slot)) + " is " + std::string(written(0, slot)) + " or " +
               std::string(written(row, slot)));
    }
  }
}

/// Rows with equal needs that differ at most in immediates become one draft.
std::vector<FormVariants::Draft> FormVariants::drafts_of(const Group& rows) const {
  std::vector<Draft> drafts;
  for (const auto& entry : rows) {
    const auto* row = entry.first;
    auto operands = operand_texts(form_, *row);
    std::string key = key_without_immediates(operands);
    const auto similar = std::find_if(drafts.begin(), drafts.end(), [&](const Draft& draft) {
      return draft.key == key && draft.lax == row->lax && draft.needs == row->needs;
    });
    if (similar == drafts.end()) {
      drafts.push_back({row, &entry.second, std::move(operands), std::move(key), row->needs, row->lax});
      continue;
    }
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].starts_with(kImmediate)) add_choices(similar->operands[i], operands[i]);
    }
  }
  add_lax_operands(rows, drafts);
  return drafts;
}

/// A further draft of each row with the operands that only some assemblers take.
void FormVariants::add_lax_operands(const Group& rows, std::vector<Draft>& drafts) const {
  for (const LaxOperands& lax : form_.lax_operands()) {
    for (const auto& [row, hidden] : rows) {
      std::vector<std::string> operands = operand_texts(form_, *row);
      const std::vector<std::string> usual = operands;
      for (const OperandTemplate& operand : lax.operands) {
        const auto at =
            std::ranges::find(form_.operand_names(), operand.name) - form_.operand_names().begin();
        std::string& text = operands[static_cast<std::size_t>(at)];
        if (!text.empty()) text = operand.fill(row->values);
      }
      if (operands == usual) continue;
      Needs needs = row->needs;
      needs.push_back(lax.need);
      drafts.push_back({row, &hidden, operands, key_without_immediates(operands), std::move(needs), true});
    }
  }
}

std::vector<Variant> FormVariants::make(const std::string& opcode, const Group& rows) {
  check_one_meaning(opcode, rows);
  std::vector<VariantData*> made;
  for (const Draft& draft : drafts_of(rows)) {
    const LazyOperands* const operands = operand_list(draft.operands);
    const auto same = std::find_if(made.begin(), made.end(), [&](const VariantData* data) {
      return data->operands == operands && data->lax == draft.lax;
    });
    if (same != made.end()) {
      (*same)->needs.push_back(draft.needs);
      continue;
    }
    made.push_back(&data_.emplace_back(VariantData{.form = &form_,
                                                   .opcode = opcode,
                                                   .values = draft.row->values,
                                                   .hidden = *draft.hidden,
                                                   .operands = operands,
                                                   .needs = {draft.needs},
                                                   .lax = draft.lax}));
  }
  std::stable_sort(made.begin(), made.end(), [](const auto* a, const auto* b) { return a->lax < b->lax; });
  std::vector<Variant> variants;
  for (const VariantData* data : made) variants.emplace_back(data);
  return variants;
}

const std::vector<Variant>& FormVariants::of_bindings(const std::vector<Binding>& bindings) {
  std::vector<Known> known(form_.slots().size());
  for (int slot : form_.opcode().slots())
    known[static_cast<std::size_t>(slot)].state = Known::State::unwritten;
  for (const auto& [slot, value] : bindings) {
    known[static_cast<std::size_t>(slot)] = {.state = Known::State::written, .value = value};
  }
  // An opcode that writes a slot's absence ("get_first_ctaid<:: x>") has the same text as one that omits it.
  std::vector<bool> hidden(form_.slots().size());
  std::vector<std::string_view> values(form_.slots().size(), kAbsent);
  for (const auto& [slot, value] : bindings) values[static_cast<std::size_t>(slot)] = value;
  const std::string opcode = form_.opcode().render(values, hidden);
  if (const auto found = by_opcode_.find(opcode); found != by_opcode_.end()) return found->second;
  if (complete_) return none_;
  const std::vector<Joined> rows = join(form_, known);
  if (rows.empty()) return none_;  // other values may give the same text: m64n8k32 is 8*4*1 or 8*2*2
  Group group;
  for (const Joined& row : rows) {
    std::vector<bool> row_hidden(row.values.size());
    for (int slot : form_.opcode().slots()) {
      const auto at = static_cast<std::size_t>(slot);
      row_hidden[at] = known[at].state == Known::State::unwritten && row.values[at] != kAbsent;
    }
    group.emplace_back(&row, std::move(row_hidden));
  }
  return by_opcode_[opcode] = make(opcode, group);
}

const std::vector<Variant>& FormVariants::of(const Joined& row, const std::vector<bool>& hidden) {
  std::vector<Binding> bindings;
  for (int slot : form_.opcode().slots()) {
    const auto at = static_cast<std::size_t>(slot);
    if (row.values[at] != kAbsent && !hidden[at]) bindings.emplace_back(slot, row.values[at]);
  }
  return of_bindings(bindings);
}

void FormVariants::match(std::string_view opcode, std::vector<Variant>& out) {
  const auto readings = form_.opcode().read(opcode);
  const bool in_order =
      std::any_of(readings.begin(), readings.end(), [](const auto& r) { return r.in_order; });
  for (const auto& reading : readings) {
    if (reading.in_order != in_order) continue;
    for (const Variant& variant : of_bindings(reading.bindings)) {
      if (std::find(out.begin(), out.end(), variant) == out.end()) out.push_back(variant);
    }
  }
}

const std::vector<Variant>& FormVariants::all() {
  if (complete_) return all_;
  const std::vector<Joined> rows = join(form_, {});
  std::unordered_map<std::string, Group> groups;
  std::vector<const std::string*> order;
  for (const Joined& row : rows) {
    const Unwritten unwritten = unwritten_of(form_, row);
    for (std::size_t subset = 0; subset < std::size_t{1} << unwritten.optional.size(); ++subset) {
      std::vector<bool> hidden = unwritten.hidden;
      for (std::size_t i = 0; i < unwritten.optional.size(); ++i) {
        if ((subset >> i & 1U) != 0) hidden[static_cast<std::size_t>(unwritten.optional[i])] = true;
      }
      const auto [group, added] = groups.try_emplace(form_.opcode().render(row.values, hidden));
      if (added) order.push_back(&group->first);
      group->second.emplace_back(&row, std::move(hidden));
    }
  }
  for (const std::string* opcode : order) {
    const auto [made, added] = by_opcode_.try_emplace(*opcode);
    if (added || made->second.empty()) made->second = make(*opcode, groups[*opcode]);
    all_.insert(all_.end(), made->second.begin(), made->second.end());
  }
  complete_ = true;
  return all_;
}

}  // namespace ptxloom::spec
