// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <random>

#include "oracle/neighbours/neighbourhood.hpp"

namespace ptxloom::oracle {
namespace {

using spec::VariantData;
using Changes = std::vector<Change>;

// Neighbours with two words changed: among all forms, of a form by itself, with --all.
constexpr std::size_t kPairs = 160, kPairsAlone = 400, kPairsAll = 8000;
constexpr std::size_t kMostLeftOut = 3;  // operands side by side that are left out together with a word

class OtherWords {
 public:
  OtherWords(const Question& question, std::span<const Variant> all)
      : around_(question, all), thorough_(question.options.all || question.options.alone) {}

  const Neighbourhood& around() const { return around_; }
  /// Whether as much is tried as of a form by itself.
  bool thorough() const { return thorough_; }

  void with_slots(const VariantData& data, const Changes& changes, std::vector<Case>& out) const {
    const std::optional<std::string> opcode = around_.opcode_with(data, changes);
    if (!opcode) return;
    Case made;
    for (const Change& change : changes) {
      if (is_foreign(data, change)) made.foreign = change.second;
      made.change += (made.change.empty() ? "" : " ") + around_.change_of(change);
    }
    std::vector<Operands> tried = around_.operands_for(data, changes);
    if (thorough_ && changes.size() == 1) add_unlike(data, changes.front().second, tried);
    for (Operands& operands : tried) around_.add(*opcode, std::move(operands), made, out);
  }

  /// Two words left out, as where one comes with the other.
  void without_two(const VariantData& data, std::vector<Case>& out) const {
    std::vector<std::size_t> written;
    for (const int slot : around_.form().opcode().slots())
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
      if (!around_.form().opcode().units()[i].slots.empty()) continue;
      const std::string original = parts[i];
      const auto try_part = [&](const std::string& replacement) {
        parts[i] = replacement;
        std::string opcode;
        for (const std::string& part : parts) opcode += part;
        Case made{.line = {}, .change = original + "=" + replacement};
        if (!replacement.empty() && around_.words().is_foreign(replacement.substr(1)))
          made.foreign = replacement.substr(1);
        for (Operands& operands : around_.operands_for(data, {}))
          around_.add(opcode, std::move(operands), made, out);
      };
      try_part("");
      for (const std::string& word : around_.words().class_mates(original.substr(1))) try_part("." + word);
      parts[i] = original;
    }
  }

 private:
  bool is_foreign(const VariantData& data, const Change& change) const {
    const auto& [slot, value] = change;
    const Words& words = around_.words();
    if (!words.is_foreign(value) || (around_.is_own(value) && !words.is_unread(value))) return false;
    // A word in place of one that may be left out is the line without it, and a word more.
    const bool added = data.unwritten(static_cast<int>(slot)) || around_.is_optional(slot);
    return added || words.is_flag(value) || words.is_unread(value);
  }

  std::vector<std::string> parts_of(const VariantData& data) const {
    std::vector<std::string> parts;
    for (const spec::Unit& unit : around_.form().opcode().units()) {
      const bool hide = unit.optional && data.unwritten(unit.slots.front());
      parts.push_back(hide ? std::string() : unit.text.render(data.values));
    }
    return parts;
  }

  /// Operands that no variant has: those of a word that is gone with it, or longer and shorter vectors. What
  /// a form has lost altogether shows with these.
  void add_unlike(const VariantData& data, std::string_view value, std::vector<Operands>& result) const {
    const std::optional<Operands> filled = around_.fill(data.values);
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

  Neighbourhood around_;
  bool thorough_;
};

}  // namespace

std::vector<Case> other_words(const Question& question, std::span<const Variant> sources) {
  const std::vector<Variant> all = question.specs.variants(question.form.name);
  const OtherWords other(question, all);
  const std::size_t slots = sources.front().data()->values.size();
  std::vector<Case> cases;
  for (const Variant& source : sources) {
    for (std::size_t slot = 0; slot < slots; ++slot) {
      for (const std::string& value : other.around().values(slot)) {
        if (value != source.data()->values[slot]) other.with_slots(*source.data(), {{slot, value}}, cases);
      }
    }
    other.with_fixed_words(*source.data(), cases);
    if (other.thorough()) other.without_two(*source.data(), cases);
  }
  const auto pick = [&](std::size_t size) {
    return std::uniform_int_distribution<std::size_t>(0, size - 1)(question.random);
  };
  const auto value = [&](std::size_t slot) -> std::string_view {
    return other.around().values(slot)[pick(other.around().values(slot).size())];
  };
  const std::size_t pairs = question.options.all ? kPairsAll : question.options.alone ? kPairsAlone : kPairs;
  for (std::size_t i = 0; slots > 1 && i < pairs; ++i) {
    const std::size_t a = pick(slots), b = pick(slots);
    if (a == b) continue;
    other.with_slots(*sources[pick(sources.size())].data(), {{a, value(a)}, {b, value(b)}}, cases);
  }
  return cases;
}

}  // namespace ptxloom::oracle
