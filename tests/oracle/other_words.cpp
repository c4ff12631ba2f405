// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "oracle/checks.hpp"
#include "oracle/instance.hpp"
#include "oracle/words.hpp"

namespace ptxloom::oracle {
namespace {

using spec::Form;
using spec::VariantData;
using Change = std::pair<std::size_t, std::string_view>;  // slot, value
using Changes = std::vector<Change>;
using Operands = std::vector<std::optional<OperandSpec>>;

// Neighbours with two words changed: among all forms, of a form by itself, with --all.
constexpr std::size_t kPairs = 160, kPairsAlone = 400, kPairsAll = 8000;
constexpr std::size_t kMostLeftOut = 3;  // operands side by side that are left out together with a word
// Lines of a form by itself that have its words in combinations that it lacks, and combinations looked at.
constexpr std::size_t kUnknown = 2000, kLookedAt = 20'000;
constexpr std::size_t kMostScaled = 4;  // vectors whose lengths change with a number
constexpr std::size_t kRelatedSources = 24;
constexpr std::size_t kRelated =
    4000;  // lines of a form by itself with words that its family has, and it lacks

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Whether a flag stands in the opcode twice.
bool repeats_a_flag(std::string_view opcode, const Words& words) {
  std::unordered_set<std::string_view> seen;
  for (std::string_view word : spec::split(opcode, '.')) {
    if (words.is_flag(word) && !seen.insert(word).second) return true;
  }
  return false;
}

class Neighbourhood {
 public:
  Neighbourhood(const Question& question, std::span<const Variant> all)
      : form_(*all.front().data()->form),
        words_(question.specs, question.form, question.unread.of(question.form.name)),
        all_(all),
        thorough_(question.options.all || question.options.alone) {
    for (std::size_t slot = 0; slot < form_.slots().size(); ++slot) values_.push_back(values_for(slot));
    for (const Variant& variant : all_) number_values(*variant.data());
  }

  /// What is tried in a slot: all that the form knows there, and all words of their classes.
  const std::vector<std::string>& values(std::size_t slot) const { return values_[slot]; }
  /// Whether as much is tried as of a form by itself.
  bool thorough() const { return thorough_; }

  void with_slots(const VariantData& data, const Changes& changes, std::vector<Case>& out) const {
    std::vector<std::string_view> values = data.values;
    std::vector<bool> hidden = data.hidden;
    Case made;
    for (const auto& [slot, value] : changes) {
      // A word in place of one that may be left out is the line without it, and a word more.
      const bool added = data.unwritten(static_cast<int>(slot)) || is_optional(slot);
      if (words_.is_foreign(value) && (!is_own(value) || words_.is_unread(value)) &&
          (added || words_.is_flag(value) || words_.is_unread(value)))
        made.foreign = value;
      values[slot] = value;
      hidden[slot] = false;
      made.change += (made.change.empty() ? "" : " ") + change_of({slot, value});
    }
    const std::string opcode = form_.opcode().render(values, hidden);
    if (!is_well_formed(opcode)) return;
    std::vector<Operands> tried = operands_for(data, values, changes);
    if (thorough_ && changes.size() == 1) add_unlike(data, changes.front().second, tried);
    for (Operands& operands : tried) add(opcode, std::move(operands), made, out);
  }

  /// Words of the form in combinations that no variant has, each a variant with one word replaced, with the
  /// operands of that variant and of the nearest one with the new word; where the word is a number, also with
  /// vectors longer or shorter as it says. A row that a form has lost shows with these.
  std::vector<Case> unknown(std::mt19937& random) const {
    std::unordered_set<std::string_view> known;
    for (const Variant& variant : all_) known.insert(variant.opcode());
    const std::vector<int>& slots = form_.opcode().slots();
    const auto below = [&](std::size_t end) {
      return std::uniform_int_distribution<std::size_t>(0, end - 1)(random);
    };
    std::vector<Case> cases;
    for (std::size_t i = 0; !slots.empty() && i < kLookedAt && cases.size() < kUnknown; ++i) {
      const VariantData& data = *all_[below(all_.size())].data();
      const int slot = slots[below(slots.size())];
      const auto& domain = form_.domain(slot);
      const Change change{static_cast<std::size_t>(slot), domain[below(domain.size())].value};
      std::vector<std::string_view> values = data.values;
      std::vector<bool> hidden = data.hidden;
      values[change.first] = change.second;
      hidden[change.first] = false;
      const std::string opcode = form_.opcode().render(values, hidden);
      if (known.contains(opcode) || !is_well_formed(opcode)) continue;
      const Case made{.line = {}, .change = change_of(change), .foreign = {}};
      for (Operands& operands : operands_for(data, values, {change})) {
        for (Operands& scaled : scaled_with(operands, data.values[change.first], change.second))
          add(opcode, std::move(scaled), made, cases);
        add(opcode, std::move(operands), made, cases);
      }
    }
    return cases;
  }

  /// Words that other forms of the family have where this one has others, with the operands that come with
  /// those, also with vectors shorter by one, with an operand fewer, and with one more like the one before.
  /// A word that a form has lost with its last row shows with these.
  std::vector<Case> related(std::span<const Variant> sources) const {
    std::vector<Case> cases;
    for (const Variant& source : sources) {  // outermost: what is too much leaves out sources, and no word
      for (const int index : form_.opcode().slots()) {
        const auto slot = static_cast<std::size_t>(index);
        for (const std::string& value : values_[slot]) {
          if (is_own(value) || value == spec::kAbsent || words_.is_foreign(value)) continue;
          if (cases.size() < kRelated) with_related(*source.data(), {slot, value}, cases);
        }
      }
    }
    return cases;
  }

  /// Two words left out, as where one comes with the other.
  void without_two(const VariantData& data, std::vector<Case>& out) const {
    std::vector<std::size_t> written;
    for (const int slot : form_.opcode().slots())
      if (!data.unwritten(slot)) written.push_back(static_cast<std::size_t>(slot));
    for (std::size_t a = 0; a < written.size(); ++a) {
      for (std::size_t b = a + 1; b < written.size(); ++b)
        with_slots(data, {{written[a], spec::kAbsent}, {written[b], spec::kAbsent}}, out);
    }
  }

  /// One fixed word of the form's text left out or replaced by another of its class.
  void with_fixed_words(const VariantData& data, std::vector<Case>& out) const {
    std::vector<std::string> parts = parts_of(data);
    for (std::size_t i = 1; i < parts.size(); ++i) {
      if (!form_.opcode().units()[i].slots.empty()) continue;
      const std::string original = parts[i];
      const auto try_part = [&](const std::string& replacement) {
        parts[i] = replacement;
        std::string opcode;
        for (const std::string& part : parts) opcode += part;
        Case made{.line = {}, .change = original + "=" + replacement};
        if (!replacement.empty() && words_.is_foreign(replacement.substr(1)))
          made.foreign = replacement.substr(1);
        for (Operands& operands : operands_for(data, data.values, {}))
          add(opcode, std::move(operands), made, out);
      };
      try_part("");
      for (const std::string& word : words_.class_mates(original.substr(1))) try_part("." + word);
      parts[i] = original;
    }
  }

 private:
  void with_related(const VariantData& data, const Change& change, std::vector<Case>& out) const {
    const auto& [slot, word] = change;
    std::vector<std::string_view> values = data.values;
    std::vector<bool> hidden = data.hidden;
    values[slot] = word;
    hidden[slot] = false;
    const std::string opcode = form_.opcode().render(values, hidden);
    if (!is_well_formed(opcode)) return;
    const Case made{.line = {}, .change = change_of(change), .foreign = {}};
    for (const spec::Alternative& any : form_.domain(static_cast<int>(slot))) {
      const VariantData* const mate =
          any.value == spec::kAbsent ? nullptr : nearest_with(data, slot, any.value);
      const std::optional<Operands> operands = mate == nullptr ? std::nullopt : fill(mate->values);
      if (!operands) continue;
      for (const Operands& tried : {*operands, shortened(*operands)}) {
        add(opcode, tried, made, out);
        for (std::size_t i = 0; i < tried.size(); ++i) {
          if (tried[i] && tried[i]->kind == OperandSpec::Kind::address) continue;
          Operands other = tried;
          if (tried[i])
            other[i].reset();
          else if (i > 1)  // the first may be a result
            other[i] = tried[i - 1];
          add(opcode, std::move(other), made, out);
        }
      }
    }
  }

  /// The operands with vectors shorter by one; of one element nothing is left.
  static Operands shortened(Operands operands) {
    for (std::optional<OperandSpec>& operand : operands) {
      if (!operand || operand->count == 0) continue;
      if (--operand->count == 0) operand.reset();
    }
    return operands;
  }

  std::string change_of(const Change& change) const {
    return std::string(form_.slots().name(static_cast<int>(change.first))) + "=" + std::string(change.second);
  }

  /// Whether no word is empty, and no flag repeated: other_spellings has those.
  bool is_well_formed(std::string_view opcode) const {
    return opcode.find("..") == opcode.npos && !opcode.ends_with('.') && !opcode.starts_with('.') &&
           !repeats_a_flag(opcode, words_);
  }

  std::vector<std::string> parts_of(const VariantData& data) const {
    std::vector<std::string> parts;
    for (const spec::Unit& unit : form_.opcode().units()) {
      const bool hide = unit.optional && data.unwritten(unit.slots.front());
      parts.push_back(hide ? std::string() : unit.text.render(data.values));
    }
    return parts;
  }

  /// Whether a slot of the form has the value.
  bool is_own(std::string_view value) const {
    for (int slot = 0; slot < static_cast<int>(values_.size()); ++slot) {
      const auto same = [&](const spec::Alternative& any) { return any.value == value; };
      if (std::ranges::any_of(form_.domain(slot), same)) return true;
    }
    return false;
  }

  bool is_optional(std::size_t slot) const {
    return std::ranges::any_of(form_.domain(static_cast<int>(slot)),
                               [](const spec::Alternative& any) { return any.value == spec::kAbsent; });
  }

  std::vector<std::string> values_for(std::size_t slot) const {
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

  /// The operands to try with these values: those of the templates; those that a variant with the new value
  /// has; those that the new type would have instead of the old one. Only with the right operands does ptxas
  /// say anything of the words.
  std::vector<Operands> operands_for(const VariantData& data, spec::Values values,
                                     const Changes& changes) const {
    std::vector<Operands> result;
    if (auto filled = fill(values)) result.push_back(std::move(*filled));
    for (const auto& [slot, value] : changes) {
      if (const VariantData* other = nearest_with(data, slot, value)) {
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

  /// Operands that no variant has: those of a word that is gone with it, or longer and shorter vectors. What
  /// a form has lost altogether shows with these.
  void add_unlike(const VariantData& data, std::string_view value, std::vector<Operands>& result) const {
    const std::optional<Operands> filled = fill(data.values);
    if (!filled) return;
    if (value != spec::kAbsent) {
      for (const int more : {-1, 1}) {
        Operands resized = *filled;
        bool any = false;
        for (std::optional<OperandSpec>& operand : resized) {
          if (!operand || operand->count == 0 || operand->count + more < 1) continue;
          operand->count += more;
          any = true;
        }
        if (any) result.push_back(std::move(resized));
      }
      return;
    }
    for (std::size_t first = 0; first < filled->size(); ++first) {
      Operands fewer = *filled;
      bool address = false;
      for (std::size_t i = first; i < std::min(first + kMostLeftOut, fewer.size()); ++i) {
        if (!fewer[i]) continue;
        address = address || fewer[i]->kind == OperandSpec::Kind::address;
        fewer[i].reset();
        // A register in place of an address ptxas takes for one without brackets, which we refuse on purpose.
        const bool last = std::none_of(fewer.begin() + static_cast<std::ptrdiff_t>(i), fewer.end(),
                                       [](const auto& operand) { return operand.has_value(); });
        if (!address || last) result.push_back(fewer);
      }
    }
  }

  /// The operands with one or more vectors as many times as long as one number is the other.
  static std::vector<Operands> scaled_with(const Operands& operands, std::string_view from,
                                           std::string_view to) {
    if (!is_number(from) || !is_number(to)) return {};
    const int before = std::stoi(std::string(from)), now = std::stoi(std::string(to));
    std::vector<std::size_t> vectors;
    for (std::size_t i = 0; i < operands.size() && vectors.size() < kMostScaled; ++i)
      if (operands[i] && operands[i]->count > 0) vectors.push_back(i);
    std::vector<Operands> result;
    for (std::size_t chosen = 1; chosen < std::size_t{1} << vectors.size(); ++chosen) {
      Operands scaled = operands;
      for (std::size_t v = 0; v < vectors.size(); ++v) {
        int& count = scaled[vectors[v]]->count;
        if ((chosen >> v & 1) != 0) count = std::max(1, count * now / std::max(1, before));
      }
      result.push_back(std::move(scaled));
    }
    return result;
  }

  std::optional<Operands> fill(spec::Values values) const {
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
  void number_values(const VariantData& data) {
    for (std::string_view value : data.values)
      rows_.push_back(numbers_.emplace(value, static_cast<std::uint16_t>(numbers_.size())).first->second);
  }

  std::uint16_t number_of(std::string_view value) const {
    const auto found = numbers_.find(value);
    return found == numbers_.end() ? std::numeric_limits<std::uint16_t>::max() : found->second;
  }

  /// The variant with this value that has most others in common.
  const VariantData* nearest_with(const VariantData& data, std::size_t slot, std::string_view value) const {
    std::vector<std::uint16_t> wanted;
    for (std::string_view own : data.values) wanted.push_back(number_of(own));
    const std::uint16_t changed = number_of(value);
    const VariantData* best = nullptr;
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
  Operands retyped(Operands operands, const Type& from, const Type& to) const {
    const spec::TypeData* const wanted =
        form_.vocabulary().type("b" + std::to_string(std::max<int>(8, to.whole_bytes() * 8)));
    for (std::optional<OperandSpec>& operand : operands) {
      if (!operand || operand->kind != OperandSpec::Kind::value || !operand->registers_allowed) continue;
      const bool packed = operand->count > 0 && operand->type.bits == 32 && from.bits < 32 && to.bits <= 32;
      if (packed)
        operand->count =
            std::max(1, operand->count * static_cast<int>(to.bits) / static_cast<int>(from.bits));
      if (operand->type.whole_bytes() == from.whole_bytes() && wanted != nullptr && !packed)
        operand->type = wanted->type;
    }
    return operands;
  }

  void add(const std::string& opcode, Operands operands, const Case& like, std::vector<Case>& out) const {
    const spec::OperandList list =
        spec::lay_out(form_.operand_text(), form_.operand_names(), std::move(operands), form_.place());
    Case made = like;
    made.line = line_of(opcode, list.pieces, operand_texts(list.specs));
    out.push_back(std::move(made));
  }

  const Form& form_;
  Words words_;
  std::span<const Variant> all_;
  std::vector<std::vector<std::string>> values_;
  std::unordered_map<std::string_view, std::uint16_t> numbers_;  // of the values of variants
  std::vector<std::uint16_t> rows_;
  bool thorough_;
};

}  // namespace

std::vector<Case> other_words(const Question& question, std::span<const Variant> sources) {
  const std::vector<Variant> all = question.specs.variants(question.form.name);
  const Neighbourhood around(question, all);
  const std::size_t slots = sources.front().data()->values.size();
  std::vector<Case> cases;
  for (const Variant& source : sources) {
    for (std::size_t slot = 0; slot < slots; ++slot) {
      for (const std::string& value : around.values(slot)) {
        if (value != source.data()->values[slot]) around.with_slots(*source.data(), {{slot, value}}, cases);
      }
    }
    around.with_fixed_words(*source.data(), cases);
    if (around.thorough()) around.without_two(*source.data(), cases);
  }
  const auto pick = [&](std::size_t size) {
    return std::uniform_int_distribution<std::size_t>(0, size - 1)(question.random);
  };
  const auto value = [&](std::size_t slot) -> std::string_view {
    return around.values(slot)[pick(around.values(slot).size())];
  };
  const std::size_t pairs = question.options.all ? kPairsAll : question.options.alone ? kPairsAlone : kPairs;
  for (std::size_t i = 0; slots > 1 && i < pairs; ++i) {
    const std::size_t a = pick(slots), b = pick(slots);
    if (a == b) continue;
    around.with_slots(*sources[pick(sources.size())].data(), {{a, value(a)}, {b, value(b)}}, cases);
  }
  return cases;
}

std::vector<Case> unknown_words(const Question& question) {
  const std::vector<Variant> all = question.specs.variants(question.form.name);
  const Neighbourhood around(question, all);
  std::vector<Case> cases = around.unknown(question.random);
  std::vector<Case> related = around.related(sample(all, kRelatedSources, question.random));
  cases.insert(cases.end(), std::make_move_iterator(related.begin()), std::make_move_iterator(related.end()));
  return cases;
}

}  // namespace ptxloom::oracle
