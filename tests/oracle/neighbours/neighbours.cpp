// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <unordered_set>

#include "oracle/checks.hpp"
#include "oracle/instance.hpp"
#include "spec/cell.hpp"

namespace ptxloom::oracle {
namespace {

// Variants of a form whose neighbours are tried, and neighbours of a form: among all forms, by itself, with
// --all.
struct Limits {
  std::size_t words, spellings, operands, cases;
};
constexpr Limits kSome{.words = 12, .spellings = 2, .operands = 2, .cases = 300};
constexpr Limits kAlone{.words = 40, .spellings = 8, .operands = 6, .cases = 2500};
constexpr Limits kAll{.words = 600, .spellings = 15, .operands = 12, .cases = 5000};

/// Targets that between them have every instruction; the others have nothing that these lack.
constexpr std::string_view kTargets[] = {"sm_75",   "sm_80",   "sm_90a", "sm_100a",
                                         "sm_107a", "sm_110a", "sm_120a"};

void append(std::vector<Case>& to, std::vector<Case> from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

std::string_view opcode_of(std::string_view line) { return line.substr(0, line.find_first_of(" ;")); }

/// Each line once, and none that is a variant of the form: check_legality has had those.
void remove_known(std::vector<Case>& cases, std::span<const Variant> variants) {
  std::unordered_set<std::string_view> opcodes;  // few variants have one of them
  for (const Case& one : cases) opcodes.insert(opcode_of(one.line));
  std::unordered_set<std::string> seen;
  for (const Variant& variant : variants) {
    if (!opcodes.contains(variant.opcode())) continue;
    for (std::string& line : lines_of(variant)) seen.insert(std::move(line));
  }
  std::erase_if(cases, [&](const Case& one) { return !seen.insert(one.line).second; });
}

}  // namespace

std::vector<Case> neighbours(const Question& question) {
  const std::vector<Variant> variants = question.specs.variants(question.form.name);
  const Limits& limits = question.options.all ? kAll : question.options.alone ? kAlone : kSome;
  const auto sources = [&](std::size_t limit) { return sample(variants, limit, question.random); };
  std::vector<Case> cases = other_words(question, sources(limits.words));
  remove_known(cases, variants);
  if (cases.size() > limits.cases) {
    std::shuffle(cases.begin(), cases.end(), question.random);
    cases.resize(limits.cases);
  }
  if (question.options.alone) append(cases, unknown_words(question));
  append(cases, other_spellings(question, sources(limits.spellings)));
  append(cases, other_operands(question, sources(limits.operands)));
  remove_known(cases, variants);
  return cases;
}

std::vector<Target> neighbour_targets(const Question& question) {
  std::vector<Target> chosen = targets_of(question.specs);
  if (question.options.all) return chosen;
  std::erase_if(chosen, [](const Target& target) {
    return std::ranges::find(kTargets, target.name()) == std::end(kTargets);
  });
  return chosen;
}

namespace {

/// As stricter.txt spells a change, with `_` for spaces.
std::string in_one_word(std::string change) {
  std::ranges::replace(change, ' ', '_');
  return change;
}

/// The two verdicts on the cases at one place; where they differ, a case is told apart by who refuses it.
class Comparison {
 public:
  explicit Comparison(const Question& question)
      : question_(question),
        stricter_(question.stricter.of(question.form.name)),
        cases_(neighbours(question)) {
    for (const Case& one : cases_) lines_.push_back(one.line);
    outcome_.lines = lines_.size();
    taken_.resize(lines_.size());
  }

  void at(const Target& target) {
    const Surroundings around = surroundings(question_.form);
    const Place place{target, versions_of(question_.specs).back(), around};
    const std::vector<Verdict> ours = question_.ours.judge(lines_, place);
    std::vector<Verdict> theirs = judge(place, ours);
    outcome_.cases += lines_.size();
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      if (!theirs[i].judged) ++outcome_.unjudged;
      if (theirs[i].judged && theirs[i].accepted) taken_[i] = true;
      if (!theirs[i].judged || ours[i].accepted == theirs[i].accepted) continue;
      if (stricter_.contains(in_one_word(cases_[i].change))) {
        ++outcome_.stricter;
        continue;
      }
      // A verdict that nothing explains is not believed: it may be from memory, or due to another line of the
      // file. ptxas is asked about the line alone, and says why, too.
      if (!is_expanded(i, theirs[i]) && !is_foreign({i, theirs[i].accepted})) {
        theirs[i] = ask_again(i, place);
        if (!theirs[i].judged || ours[i].accepted == theirs[i].accepted) continue;
      }
      if (is_expanded(i, theirs[i])) {
        ++outcome_.expanded;
        taken_[i] = true;
        continue;
      }
      Difference& difference = differences_[{i, theirs[i].accepted}];
      difference.targets += (difference.targets.empty() ? "" : ",") + std::string(target.name());
      difference.message = (theirs[i].accepted ? ours : theirs)[i].message;
    }
  }

  bool differs() const {
    return std::any_of(differences_.begin(), differences_.end(),
                       [&](const auto& difference) { return !is_foreign(difference.first); });
  }

  Outcome finish() {
    for (const auto& [key, difference] : differences_) {
      const auto& [index, theirs] = key;
      const Case& one = cases_[index];
      if (is_foreign(key)) {
        outcome_.foreign_words.insert(one.foreign);
        ++outcome_.foreign;
        continue;
      }
      outcome_.disagreements.push_back(
          std::string(theirs ? "neighbour accepted by ptxas: " : "neighbour refused by ptxas: ") + one.line +
          "  (" + one.change + ") @ " + difference.targets + (theirs ? "; ours: " : "; ptxas: ") +
          difference.message);
    }
    return std::move(outcome_);
  }

 private:
  struct Difference {
    std::string targets, message;
  };

  /// Whether it refuses what it made of the line, not the line.
  bool is_expanded(std::size_t line, const Verdict& verdict) const {
    if (verdict.accepted) return false;
    return verdict.reason == Reason::expansion || (taken_[line] && verdict.reason == Reason::operands);
  }

  /// Whether ptxas takes the case for a word that it does not look at.
  bool is_foreign(const std::pair<std::size_t, bool>& difference) const {
    const std::string& word = cases_[difference.first].foreign;
    return difference.second && !word.empty() && question_.foreign.contains(question_.form.name, word);
  }

  /// What ptxas says, up to generated code. What it cannot parse it parses nowhere, and each such line costs
  /// it a run: it is asked once. Most that it crashes on are lines that we refuse, and among those few it
  /// finds them faster.
  std::vector<Verdict> judge(const Place& place, const std::vector<Verdict>& ours) {
    std::vector<Verdict> result(lines_.size());
    for (std::size_t i : unparsed_)
      result[i] = {.accepted = false, .message = "syntax error", .reason = Reason::unreadable};
    ask(place, Depth::check, ours, result, [](std::size_t) { return true; });
    for (const bool accepted : {true, false})
      ask(place, Depth::code, ours, result, [&](std::size_t i) { return ours[i].accepted == accepted; });
    return result;
  }

  Verdict ask_again(std::size_t line, const Place& place) const {
    const std::span<const std::string> asked(&lines_[line], 1);
    Verdict verdict = question_.ptxas.ask_again(asked, place, Depth::check).front();
    if (!verdict.judged || !verdict.accepted) return verdict;
    return question_.ptxas.ask_again(asked, place, Depth::code).front();
  }

  /// Asks for the wanted lines that are not refused yet. A line that confuses ptxas's parser may make it
  /// trip over a later one, so a line that we can read is asked about by itself before it counts as
  /// unreadable.
  template <class Wanted>
  void ask(const Place& place, Depth depth, const std::vector<Verdict>& ours, std::vector<Verdict>& result,
           Wanted wanted) {
    std::vector<std::size_t> indices;
    std::vector<std::string> asked;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      if (!result[i].accepted || !result[i].judged || !wanted(i)) continue;
      indices.push_back(i);
      asked.push_back(lines_[i]);
    }
    std::vector<Verdict> verdicts = question_.ptxas.judge(asked, place, depth);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const auto unreadable = [&] {
        return !verdicts[i].accepted && verdicts[i].reason == Reason::unreadable;
      };
      if (unreadable() && ours[indices[i]].accepted)
        verdicts[i] = question_.ptxas.judge(std::span(&asked[i], 1), place, depth).front();
      if (unreadable()) unparsed_.insert(indices[i]);
      result[indices[i]] = std::move(verdicts[i]);
    }
  }

  const Question& question_;
  const std::set<std::string> stricter_;
  std::vector<Case> cases_;
  std::vector<std::string> lines_;
  std::vector<bool> taken_;  // by line: on a target before ptxas took it, for what stands there
  std::unordered_set<std::size_t> unparsed_;
  std::map<std::pair<std::size_t, bool>, Difference> differences_;
  Outcome outcome_;
};

}  // namespace

Outcome check_neighbours(const Question& question) {
  Comparison comparison(question);
  for (const Target& target : neighbour_targets(question)) {
    comparison.at(target);
    if (question.options.until_first && comparison.differs()) break;
  }
  return comparison.finish();
}

}  // namespace ptxloom::oracle
