// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_set>

#include "oracle/checks.hpp"
#include "oracle/instance.hpp"
#include "spec/lint.hpp"

namespace ptxloom::oracle {
namespace {

using spec::Form;
using spec::VariantData;

constexpr std::size_t kSources = 120;  // variants of a form whose neighbours are tried
constexpr std::size_t kAllSources =
    4000;  // with --all: more have neighbours in common, all of which fit no memory
constexpr std::size_t kNeighbours = 12000;  // of a form, likewise
constexpr std::size_t kPairs = 400;         // neighbours with two words changed

/// A text that is close to a variant.
struct Neighbour {
  std::string opcode, line;
  spec::OperandList operands;
  std::string change;  // "ftz=sat": what was changed
  bool foreign =
      false;  // it has a flag that no form of its mnemonic knows: ptxas does not look at many of those
};

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

class Neighbourhood {
 public:
  Neighbourhood(const Form& form, const spec::Database& database) : form_(form) {
    const spec::Vocabulary& vocabulary = database.vocabulary();
    for (std::size_t slot = 0; slot < form.slots().size(); ++slot)
      values_.push_back(values_for(slot, vocabulary));
    for (const spec::WordClass& group : vocabulary.classes()) {
      classes_.emplace_back(group.words.begin(), group.words.end());
      if (group.name == "flag") flags_ = foreign_ = classes_.back();
    }
    for (std::string_view mnemonic : form.data().mnemonics) {
      for (const spec::FormData* other : database.with_mnemonic(mnemonic)) {
        database.with(*other, [&](spec::FormVariants& variants) { forget_known(variants.form()); });
      }
    }
  }

  /// What may be tried in a slot: all that the form knows there, and all words of their classes.
  const std::vector<std::string>& values(std::size_t slot) const { return values_[slot]; }

  std::optional<Neighbour> with_slot(const VariantData& data, std::size_t slot,
                                     std::string_view value) const {
    return with_slots(data, {{slot, value}});
  }

  std::optional<Neighbour> with_slots(
      const VariantData& data, const std::vector<std::pair<std::size_t, std::string_view>>& changes) const {
    std::vector<std::string_view> values = data.values;
    std::vector<bool> hidden = data.hidden;
    std::string change;
    bool foreign = false;
    for (const auto& [slot, value] : changes) {
      foreign = foreign || foreign_.contains(std::string(value));
      values[slot] = value;
      hidden[slot] = false;
      change += (change.empty() ? "" : " ") + std::string(form_.slots().name(static_cast<int>(slot))) + "=" +
                std::string(value);
    }
    const std::string opcode = form_.opcode().render(values, hidden);
    const bool twice =
        std::any_of(changes.begin(), changes.end(), [&](const auto& c) { return repeats(opcode, c.second); });
    if (twice) return std::nullopt;  // ptxas lets flags stand twice
    auto made = make(opcode, values, change);
    if (made) made->foreign = foreign;
    return made;
  }

  /// Neighbours with one fixed word of the form's text left out or replaced by another of its class.
  std::vector<Neighbour> with_fixed_words(const VariantData& data) const {
    std::vector<std::string> parts;
    for (const spec::Unit& unit : form_.opcode().units()) {
      const bool hide = unit.optional && data.unwritten(unit.slots.front());
      parts.push_back(hide ? std::string() : unit.text.render(data.values));
    }
    std::vector<Neighbour> result;
    for (std::size_t i = 1; i < parts.size(); ++i) {
      if (!form_.opcode().units()[i].slots.empty()) continue;
      const std::string original = parts[i];
      const auto try_part = [&](std::string replacement) {
        parts[i] = std::move(replacement);
        std::string opcode;
        for (const std::string& part : parts) opcode += part;
        auto made = make(opcode, data.values, original + "=" + parts[i]);
        if (!made) return;
        made->foreign = !parts[i].empty() && foreign_.contains(parts[i].substr(1));
        result.push_back(std::move(*made));
      };
      try_part("");
      for (const auto& words : classes_) {
        if (!words.contains(original.substr(1))) continue;
        for (const std::string& word : words) {
          if ("." + word != original) try_part("." + word);
        }
      }
      parts[i] = original;
    }
    return result;
  }

 private:
  /// Takes the words of a form out of the foreign ones.
  void forget_known(const Form& other) {
    for (const spec::Unit& unit : other.opcode().units()) {
      for (const spec::Unit::Text& text : unit.texts)
        foreign_.erase(text.text.substr(text.text.starts_with('.') ? 1 : 0));
    }
  }

  /// Whether the opcode has a flag twice.
  bool repeats(std::string_view opcode, std::string_view flag) const {
    const auto words = spec::split(opcode, '.');
    return flags_.contains(std::string(flag)) && std::count(words.begin(), words.end(), flag) > 1;
  }

  std::vector<std::string> values_for(std::size_t slot, const spec::Vocabulary& vocabulary) const {
    std::set<std::string> values;
    for (const spec::Alternative& any : form_.domain(static_cast<int>(slot))) values.emplace(any.value);
    const std::set<std::string> own = values;
    const auto& shown = form_.opcode().slots();
    if (std::find(shown.begin(), shown.end(), static_cast<int>(slot)) != shown.end()) {
      values.emplace(spec::kAbsent);
      for (const spec::WordClass& group : vocabulary.classes()) {
        const bool of_class = std::any_of(group.words.begin(), group.words.end(), [&](std::string_view word) {
          return own.contains(std::string(word));
        });
        if (of_class) values.insert(group.words.begin(), group.words.end());
      }
    }
    for (const std::string& value : own) {
      if (!is_number(value)) continue;
      const int number = std::stoi(value);
      for (int other : {number / 2, number * 2, number + 1, 3 * number}) {
        if (other > 0) values.insert(std::to_string(other));
      }
    }
    return {values.begin(), values.end()};
  }

  std::optional<Neighbour> make(std::string opcode, spec::Values values, std::string change) const {
    if (opcode.find("..") != opcode.npos || opcode.ends_with('.') || opcode.starts_with('.'))
      return std::nullopt;
    std::vector<std::optional<OperandSpec>> operands;
    try {
      for (const spec::OperandTemplate& operand : form_.operands()) {
        const std::string text = operand.fill(values);
        operands.push_back(text.empty()
                               ? std::nullopt
                               : spec::parse_operand(operand.name, text, form_.vocabulary(), form_.place()));
      }
    } catch (const Error&) {
      return std::nullopt;  // no such type or count: nothing to write down
    }
    Neighbour made{.opcode = std::move(opcode), .line = {}, .operands = {}, .change = std::move(change)};
    made.operands =
        spec::lay_out(form_.operand_text(), form_.operand_names(), std::move(operands), form_.place());
    made.line = line_of(made.opcode, made.operands.specs, made.operands.pieces);
    return made;
  }

  const Form& form_;
  std::vector<std::vector<std::string>> values_;
  std::vector<std::set<std::string>> classes_;
  std::set<std::string> flags_, foreign_;
};

/// Whether the specs have the line themselves, on whatever target.
bool is_variant(const Specs& specs, const Neighbour& neighbour) {
  for (Variant variant : specs.match(neighbour.opcode)) {
    const auto ours = variant.operands();
    const auto& tried = neighbour.operands.specs;
    if (std::equal(ours.begin(), ours.end(), tried.begin(), tried.end(), covers)) return true;
  }
  return false;
}

/// The neighbours found so far: those that the specs have themselves are known, but not kept.
class Collection {
 public:
  explicit Collection(const Specs& specs) : specs_(specs) {}

  void add(std::optional<Neighbour> neighbour) {
    if (!neighbour || !seen_.insert(neighbour->line).second || is_variant(specs_, *neighbour)) return;
    kept_.push_back({std::move(neighbour->line), std::move(neighbour->change), neighbour->foreign});
  }

  struct Kept {
    std::string line, change;
    bool foreign = false;
  };
  std::vector<Kept> take() { return std::move(kept_); }

 private:
  const Specs& specs_;
  std::unordered_set<std::string> seen_;
  std::vector<Kept> kept_;
};

/// Neighbours of variants of the form with two slots changed at random.
void add_pairs(const Question& question, const Neighbourhood& around, std::span<const Variant> sources,
               Collection& found) {
  const std::size_t slots = sources.front().data()->values.size();
  const auto pick = [&](std::size_t size) {
    return std::uniform_int_distribution<std::size_t>(0, size - 1)(question.random);
  };
  const auto value = [&](std::size_t slot) -> std::string_view {
    return around.values(slot)[pick(around.values(slot).size())];
  };
  for (std::size_t i = 0; slots > 1 && i < kPairs * (question.options.all ? 10 : 1); ++i) {
    const std::size_t a = pick(slots), b = pick(slots);
    if (a != b)
      found.add(around.with_slots(*sources[pick(sources.size())].data(), {{a, value(a)}, {b, value(b)}}));
  }
}

std::vector<Collection::Kept> neighbours(const Question& question, const Form& form,
                                         std::vector<Variant> sources) {
  const Neighbourhood around(form, question.specs.database());
  const std::size_t limit = question.options.all ? kAllSources : kSources;
  if (sources.size() > limit) {
    std::shuffle(sources.begin(), sources.end(), question.random);
    sources.resize(limit);
  }
  Collection found(question.specs);
  for (Variant source : sources) {
    for (std::size_t slot = 0; slot < form.slots().size(); ++slot) {
      for (const std::string& value : around.values(slot)) {
        if (value != source.data()->values[slot]) found.add(around.with_slot(*source.data(), slot, value));
      }
    }
    for (Neighbour& neighbour : around.with_fixed_words(*source.data())) found.add(std::move(neighbour));
  }
  add_pairs(question, around, sources, found);
  std::vector<Collection::Kept> result = found.take();
  if (!question.options.all && result.size() > kNeighbours) {
    std::shuffle(result.begin(), result.end(), question.random);
    result.resize(kNeighbours);
  }
  return result;
}

/// The indices of the lines that ptxas takes, up to generated code.
std::vector<std::size_t> accepted_lines(const Question& question, std::span<const std::string> lines,
                                        const Target& target) {
  std::vector<std::size_t> indices;
  std::vector<std::string> passed;
  const Surroundings around = surroundings(question.form);
  const auto checked = question.ptxas.judge(lines, {target, ptx_versions().back(), around});
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!checked[i].accepted) continue;
    indices.push_back(i);
    passed.push_back(lines[i]);
  }
  const auto generated = question.ptxas.judge(passed, {target, ptx_versions().back(), around, Depth::code});
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (generated[i].accepted) result.push_back(indices[i]);
  }
  return result;
}

}  // namespace

Outcome check_neighbours(const Question& question) {
  Outcome outcome;
  const std::vector<Variant> sources = question.specs.variants(question.form.name);
  const std::vector<Collection::Kept> tried = neighbours(question, *sources.front().data()->form, sources);
  std::vector<std::string> lines;
  for (const auto& neighbour : tried) lines.push_back(neighbour.line);
  std::map<std::size_t, std::string> accepted;
  for (const TargetInfo& info : targets()) {
    const bool key = info.suffix == 'a' || info.number == 75;  // the others have nothing that these lack
    if (!question.options.all && !key) continue;
    for (std::size_t i : accepted_lines(question, lines, Target(info))) {
      accepted[i] += (accepted[i].empty() ? "" : ",") + std::string(info.name);
    }
    outcome.cases += lines.size();
  }
  for (const auto& [index, where] : accepted) {
    if (tried[index].foreign) {
      ++outcome.foreign;
      continue;
    }
    outcome.disagreements.push_back("neighbour accepted by ptxas: " + tried[index].line + "  (" +
                                    tried[index].change + ") @ " + where);
  }
  return outcome;
}

Outcome check_order(const Question& question) {
  Outcome outcome;
  std::vector<Variant> sources = question.specs.variants(question.form.name);
  const Form& form = *sources.front().data()->form;
  if (form.opcode().head() == form.opcode().units().size()) return outcome;
  std::shuffle(sources.begin(), sources.end(), question.random);
  if (!question.options.all) sources.resize(std::min<std::size_t>(sources.size(), 60));
  const Target target("sm_120a");
  std::vector<std::string> lines;
  for (Variant source : sources) {
    if (!source.allowed(target, ptx_versions().back())) continue;
    std::vector<std::string> parts;
    std::string head;
    for (std::size_t i = 0; i < form.opcode().units().size(); ++i) {
      const spec::Unit& unit = form.opcode().units()[i];
      const bool hide = unit.optional && source.data()->unwritten(unit.slots.front());
      std::string part = hide ? std::string() : unit.text.render(source.data()->values);
      if (i < form.opcode().head()) {
        head += part;
      } else if (!part.empty()) {
        parts.push_back(std::move(part));
      }
    }
    std::shuffle(parts.begin(), parts.end(), question.random);
    for (const std::string& part : parts) head += part;
    const auto read = question.specs.match(head);
    if (std::find(read.begin(), read.end(), source) == read.end())
      continue;  // an order that the specs refuse
    lines.push_back(line_of(head, source.operands(), source.pieces()));
  }
  const Surroundings around = surroundings(question.form);
  const auto verdicts = question.ptxas.judge(lines, {target, ptx_versions().back(), around});
  outcome.cases += lines.size();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!verdicts[i].accepted)
      outcome.disagreements.push_back("order refused by ptxas: " + lines[i] + "  " + verdicts[i].message);
  }
  return outcome;
}

}  // namespace ptxloom::oracle
