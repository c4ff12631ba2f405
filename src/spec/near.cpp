// SPDX-License-Identifier: Apache-2.0
#include "spec/near.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <memory_resource>
#include <tuple>
#include <type_traits>

#include "base/nearest.hpp"
#include "spec/feasible.hpp"
#include "spec/join.hpp"
#include "spec/laid.hpp"
#include "spec/select.hpp"

namespace ptxloom::spec {
namespace {

constexpr std::size_t kNearest = 5;       // opcodes that are suggested
constexpr std::size_t kForms = 2;         // forms that are examined
constexpr std::size_t kRows = 60;         // taken from a form
constexpr std::size_t kPairs = 30;        // pairs of units that are left open
constexpr std::size_t kLongestWord = 40;  // longest word that is compared with others

/// What the words say about the slots if some units may be anything.
std::vector<Known> known_of(const Form& form, const Laid& laid, std::span<const std::size_t> free) {
  std::vector<Known> known(form.slots().size());
  const auto& units = form.opcode().units();
  const auto is_free = [&](std::size_t unit) {
    return std::find(free.begin(), free.end(), unit) != free.end();
  };
  for (std::size_t unit = 0; unit < units.size(); ++unit) {
    if (laid.texts[unit] != nullptr || is_free(unit) || !units[unit].optional) continue;
    for (const int slot : units[unit].slots)
      known[static_cast<std::size_t>(slot)].state = Known::State::unwritten;
  }
  for (std::size_t unit = 0; unit < units.size(); ++unit) {
    if (laid.texts[unit] == nullptr || is_free(unit)) continue;
    for (const auto& [slot, value] : laid.texts[unit]->bindings)
      known[static_cast<std::size_t>(slot)] = {.state = Known::State::written, .value = value};
  }
  return known;
}

/// Marks the slots that the opcode of a row need not write, and for which the wrong opcode has no word.
void hide(const Form& form, const Laid& laid, const Joined& row, std::vector<bool>& hidden) {
  hidden.assign(row.values.size(), false);
  const auto& units = form.opcode().units();
  for (std::size_t unit = 0; unit < units.size(); ++unit) {
    for (const int slot : units[unit].slots) {
      const auto at = static_cast<std::size_t>(slot);
      if (row.values[at] == kAbsent) continue;
      const bool may_hide = row.spellings[at] == Spelling::optional && laid.texts[unit] == nullptr;
      if (may_hide || row.spellings[at] == Spelling::implied) hidden[at] = true;
    }
  }
}

/// A nearby row, and how its opcode differs from the wrong one.
struct Candidate {
  std::size_t form = 0;  // index among the examined forms
  std::span<const std::string_view> values;
  std::span<const Spelling> spellings;
  std::span<const Need* const> needs;
  bool elsewhere = false;
  std::string_view lost, gained;
  std::size_t words = 0, edits = 0;  // changed words, and changed characters in them

  auto key() const { return std::tuple(elsewhere, words, edits, gained.size()); }
};

/// The candidates and their storage: a wrong opcode has up to hundreds, most of which are never shown.
class Candidates {
 public:
  const std::vector<Candidate>& all() const { return all_; }
  void add(const Candidate& candidate) { all_.push_back(candidate); }

  template <class Range>
  auto keep(const Range& things) {
    using Thing = std::remove_cvref_t<decltype(*std::data(things))>;
    const std::size_t count = std::size(things);
    auto* const kept = static_cast<Thing*>(memory_.allocate(count * sizeof(Thing), alignof(Thing)));
    std::uninitialized_copy_n(std::data(things), count, kept);
    return std::span<const Thing>(kept, count);
  }
  std::string_view keep_text(std::string_view text) {
    const std::span<const char> kept = keep(text);
    return {kept.data(), kept.size()};
  }

 private:
  std::array<std::byte, 16384> room_;
  std::pmr::monotonic_buffer_resource memory_{room_.data(), room_.size()};
  std::vector<Candidate> all_;
};

class Neighbourhood {
 public:
  Neighbourhood(const Target& target, Candidates& out) : target_(target), out_(out) {}

  void explore(std::size_t index, const Form& form, const Laid& laid) {
    before_ = out_.all().size();
    if (!laid.left.empty() || !laid.in_order || lacks_any(form, laid)) let_free(index, form, laid, {});
    const std::size_t units = form.opcode().units().size();
    for (std::size_t unit = 1; unit < units; ++unit) let_free(index, form, laid, std::array{unit});
    const auto here = [](const Candidate& candidate) { return !candidate.elsewhere; };
    std::size_t tried = 0;
    for (std::size_t a = 1; a < units && tried < kPairs; ++a) {
      for (std::size_t b = a + 1; b < units && tried < kPairs; ++b, ++tried) {
        const auto own = std::span(out_.all()).subspan(before_);
        if (std::any_of(own.begin(), own.end(), here)) return;
        let_free(index, form, laid, std::array{a, b});
      }
    }
  }

 private:
  static bool lacks_any(const Form& form, const Laid& laid) {
    for (std::size_t unit = 0; unit < laid.texts.size(); ++unit)
      if (laid.lacks(form, unit)) return true;
    return false;
  }

  void let_free(std::size_t index, const Form& form, const Laid& laid, std::span<const std::size_t> free) {
    const std::size_t room = kRows - std::min(kRows, out_.all().size() - before_);
    if (room == 0) return;
    join(form, known_of(form, laid, free), room, [&](const Joined& row) {
      if (!row.lax) add(index, form, laid, free, row);
    });
  }

  void add(std::size_t index, const Form& form, const Laid& laid, std::span<const std::size_t> free,
           const Joined& row) {
    hide(form, laid, row, hidden_);
    lost_.clear();
    gained_.clear();
    std::size_t lost = laid.left.size(), gained = 0;
    for (const std::string_view word : laid.left) lost_ += word.substr(0, kLongestWord);
    for (std::size_t unit = 0; unit < laid.texts.size(); ++unit) {
      const bool is_free = std::find(free.begin(), free.end(), unit) != free.end();
      if (!is_free && !laid.lacks(form, unit)) continue;
      const std::string_view before =
          laid.texts[unit] == nullptr ? std::string_view() : laid.texts[unit]->text;
      write(form.opcode().units()[unit], row);
      if (before == written_) continue;
      lost += before.empty() ? 0U : 1U;
      gained += written_.empty() ? 0U : 1U;
      lost_ += before;
      gained_ += written_;
    }
    out_.add({.form = index,
              .values = out_.keep(row.values),
              .spellings = out_.keep(row.spellings),
              .needs = out_.keep(row.needs),
              .elsewhere = !lowest_version(row.needs, target_),
              .lost = out_.keep_text(lost_),
              .gained = out_.keep_text(gained_),
              .words = std::max(lost, gained),
              .edits = gained_.empty() ? 1 : edit_distance(lost_, gained_)});
  }

  /// Writes the text of a unit in the row's opcode.
  void write(const Unit& unit, const Joined& row) {
    const bool unseen = unit.optional && std::any_of(unit.slots.begin(), unit.slots.end(), [&](int slot) {
                          return hidden_[static_cast<std::size_t>(slot)];
                        });
    written_.clear();
    if (!unseen) unit.text.render(row.values, Template::Absent::nothing, written_);
  }

  const Target& target_;
  Candidates& out_;
  std::size_t before_ = 0;  // candidates from previous forms
  std::vector<bool> hidden_;
  std::string lost_, gained_, written_;
};

class Misreader {
 public:
  Misreader(const Database& database, std::string_view opcode, const Target& target)
      : database_(database), opcode_(opcode), target_(target) {}

  Misreading run() {
    choose_forms();
    Candidates candidates;
    for (std::size_t i = 0; i < chosen_.size(); ++i) {
      if (i > 0 && !candidates.all().empty() && chosen_[i].laid.understood < chosen_[0].laid.understood)
        break;
      Neighbourhood(target_, candidates).explore(i, database_.form(*chosen_[i].form), chosen_[i].laid);
    }
    std::vector<const Candidate*> sorted;
    sorted.reserve(candidates.all().size());
    for (const Candidate& candidate : candidates.all()) sorted.push_back(&candidate);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const Candidate* a, const Candidate* b) { return a->key() < b->key(); });
    name_nearest(sorted);
    name_exchanges(sorted);
    say_why();
    return std::move(result_);
  }

 private:
  struct Chosen {
    const FormData* form = nullptr;
    Laid laid;
    std::size_t missing = 0;
  };

  /// Chooses the forms that understand most of the opcode.
  void choose_forms() {
    for (const FormData* data : database_.with_mnemonic(mnemonic_of(opcode_))) {
      const Form& form = database_.form(*data);
      Chosen chosen{.form = data, .laid = lay(form, opcode_)};
      for (std::size_t unit = 0; unit < chosen.laid.texts.size(); ++unit)
        chosen.missing += chosen.laid.lacks(form, unit) ? 1U : 0U;
      chosen_.push_back(std::move(chosen));
    }
    std::stable_sort(chosen_.begin(), chosen_.end(), [](const Chosen& a, const Chosen& b) {
      return std::tuple(b.laid.understood, a.missing) < std::tuple(a.laid.understood, b.missing);
    });
    chosen_.resize(std::min(chosen_.size(), kForms));
  }

  void name_nearest(const std::vector<const Candidate*>& candidates) {
    for (const Candidate* const each : candidates) {
      const Candidate& candidate = *each;
      if (result_.nearest.size() == kNearest) return;
      const FormData& data = *chosen_[candidate.form].form;
      const Form& form = database_.form(data);
      const Joined row{.values = {candidate.values.begin(), candidate.values.end()},
                       .spellings = {candidate.spellings.begin(), candidate.spellings.end()},
                       .needs = {candidate.needs.begin(), candidate.needs.end()}};
      std::vector<bool> hidden;
      hide(form, chosen_[candidate.form].laid, row, hidden);
      std::string opcode = form.opcode().render(row.values, hidden);
      const auto named = [&](const NearOpcode& near) { return near.opcode == opcode; };
      if (opcode == opcode_ || std::ranges::any_of(result_.nearest, named)) continue;
      std::string needs;
      if (candidate.elsewhere) needs = needs_of(data, row, hidden);
      result_.nearest.push_back({.opcode = std::move(opcode), .needs = std::move(needs)});
    }
  }

  /// Empty if another row of the same opcode is available on the target.
  std::string needs_of(const FormData& form, const Joined& row, const std::vector<bool>& hidden) const {
    std::string needs;
    database_.with(form, [&](FormVariants& variants) {
      const std::vector<Variant>& same = variants.of(row, hidden);
      if (!same.empty() && !same.front().since(target_)) needs = where_legal(same.front());
    });
    return needs;
  }

  static bool is_type(std::string_view word) {
    return word.starts_with('.') && find_type(word.substr(1)).has_value();
  }

  bool is_best(std::size_t form) const {
    return chosen_[form].laid.understood == chosen_[0].laid.understood &&
           chosen_[form].missing == chosen_[0].missing;
  }

  /// For the form that understands most: what each wrong word could be replaced by. Types also come from
  /// other forms that understand as much: add has one for floats and one for integers.
  void name_exchanges(const std::vector<const Candidate*>& candidates) {
    if (!candidates.empty() && candidates.front()->words == 0) return;  // only the order is wrong
    for (const Candidate* const each : candidates) {
      const Candidate& candidate = *each;
      if (candidate.elsewhere || candidate.words != 1) continue;
      const bool of_types = is_type(candidate.lost) && is_type(candidate.gained);
      if (candidate.form != 0 && !(of_types && is_best(candidate.form))) continue;
      auto exchange = std::find_if(result_.legal.begin(), result_.legal.end(),
                                   [&](const Exchange& known) { return known.from == candidate.lost; });
      if (exchange == result_.legal.end())
        exchange = result_.legal.insert(result_.legal.end(), {.from = std::string(candidate.lost), .to = {}});
      if (std::find(exchange->to.begin(), exchange->to.end(), candidate.gained) == exchange->to.end())
        exchange->to.emplace_back(candidate.gained);
    }
  }

  void say_why() {
    using Why = Misreading::Why;
    const Chosen& best = chosen_.front();
    const Form& form = database_.form(*best.form);
    result_.form = best.form->name;
    if (!best.laid.left.empty()) return say_left(best.laid);
    for (std::size_t unit = 0; unit < best.laid.texts.size(); ++unit) {
      if (!best.laid.lacks(form, unit)) continue;
      const auto& texts = form.opcode().units()[unit].texts;
      result_.why = Why::missing;
      if (texts.size() == 1) result_.expected = texts.front().text;
      return;
    }
    const Table* const table = table_without_row(form, known_of(form, best.laid, {}));
    if (table == nullptr && !best.laid.in_order) result_.why = Why::order;
    if (table != nullptr) say_table(form, best.laid, *table);
  }

  /// Reports a word that the nearest form has no position left for.
  void say_left(const Laid& laid) {
    using Why = Misreading::Why;
    result_.word = laid.left.front();
    const auto stands = [&](const Unit::Text* text) { return text != nullptr && text->text == result_.word; };
    if (std::any_of(laid.texts.begin(), laid.texts.end(), stands)) {
      result_.why = Why::repeated;
    } else if (std::string nearest_word = nearest_known_word(); nearest_word != result_.word) {
      result_.why = Why::unknown_word;
      result_.nearest_word = std::move(nearest_word);
    }
  }

  /// Among the words in opcodes of the mnemonic, the one most similar to the unknown one.
  std::string nearest_known_word() const {
    const std::string_view word = result_.word.substr(0, kLongestWord);
    const Edits edits_of(word);
    std::string_view best;
    std::size_t least = 2 * kLongestWord;
    for (const FormData* data : database_.with_mnemonic(mnemonic_of(opcode_))) {
      for (const Unit& unit : database_.form(*data).opcode().units()) {
        for (const Unit::Text& text : unit.texts) {
          const std::size_t longer = std::max(word.size(), text.text.size());
          const std::size_t shorter = std::min(word.size(), text.text.size());
          if (text.text.front() != '.' || longer - shorter >= least) continue;  // a lower bound on the edits
          const std::size_t edits = edits_of.to(text.text);
          if (edits >= least) continue;
          least = edits;
          best = text.text;
        }
      }
    }
    return std::string(best);
  }

  void say_table(const Form& form, const Laid& laid, const Table& table) {
    for (const int slot : table.columns) {
      const std::string_view name = form.slots().name(slot);
      const auto& shown = form.opcode().slots();
      if (std::find(shown.begin(), shown.end(), slot) == shown.end()) continue;
      result_.table += (result_.table.empty() ? "" : " ") + std::string(name);
    }
    for (const Unit::Text* text : laid.texts) {
      if (text == nullptr) continue;
      const bool in_table = std::any_of(text->bindings.begin(), text->bindings.end(), [&](const Binding& b) {
        return std::find(table.columns.begin(), table.columns.end(), b.first) != table.columns.end();
      });
      if (!in_table) continue;
      const std::size_t at = opcode_.find(text->text);
      if (at != opcode_.npos) result_.together.push_back(opcode_.substr(at, text->text.size()));
    }
  }

  const Database& database_;
  std::string_view opcode_;
  const Target& target_;
  std::vector<Chosen> chosen_;
  Misreading result_;
};

}  // namespace

Misreading misread(const Database& database, std::string_view opcode, const Target& target) {
  return Misreader(database, opcode, target).run();
}

}  // namespace ptxloom::spec
