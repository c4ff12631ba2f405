// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "oracle/checks.hpp"
#include "oracle/instance.hpp"

namespace ptxloom::oracle {
namespace {

// Variants of one set of needs that are tried where not all are: of all forms, of a form by itself.
constexpr std::size_t kSome = 10, kAlone = 60;
constexpr std::size_t kFew = 20;  // times as many are all tried

struct Subject {
  std::string line;
  std::vector<Variant> variants;  // that read so: any may allow it
  bool documented = false;

  bool allowed(const Target& target, Version version) const {
    return std::any_of(variants.begin(), variants.end(),
                       [&](Variant v) { return v.allowed(target, version); });
  }
};

/// The variants of each line that an opcode can have.
using VariantsOfLine = std::unordered_map<std::string, std::vector<Variant>>;

VariantsOfLine lines_of_opcode(const Specs& specs, std::string_view opcode) {
  VariantsOfLine result;
  for (const Variant& variant : specs.match(opcode)) {
    for (std::string& line : lines_of(variant)) {
      std::vector<Variant>& variants = result[std::move(line)];
      if (variants.empty() || !(variants.back() == variant)) variants.push_back(variant);
    }
  }
  return result;
}

/// The lines of variants. A line may also be one of another form, which then counts too.
std::vector<Subject> subjects(const Question& question, std::span<const Variant> variants) {
  std::unordered_map<std::string, VariantsOfLine> opcodes;
  std::vector<Subject> result;
  for (const Variant& variant : variants) {
    const std::string opcode(variant.opcode());
    const auto [lines, added] = opcodes.try_emplace(opcode);
    if (added) lines->second = lines_of_opcode(question.specs, opcode);
    for (std::string& line : lines_of(variant)) {
      std::vector<Variant> all = lines->second.at(line);
      result.push_back({std::move(line), std::move(all), !variant.undocumented()});
    }
  }
  return result;
}

using Chosen = std::set<std::pair<std::size_t, Version>>;  // index into a Scope's targets

/// All that may be tried.
struct Scope {
  std::vector<Target> targets;
  std::span<const Version> versions;
};

constexpr std::size_t kNear = 3;  // targets on which a version that a need names is tried

/// A few targets that an alternative of a need admits, at its versions and at those next to them.
void add_near(const spec::NeedAlternative& alternative, const Scope& scope, std::mt19937& random,
              Chosen& into) {
  const std::span<const Version> versions = scope.versions;
  const spec::Need anywhen{{.target = alternative.target, .from = {}}};
  for (Version edge : {alternative.from, alternative.until}) {
    const auto at = std::lower_bound(versions.begin(), versions.end(), edge);
    const auto index = static_cast<std::size_t>(at - versions.begin());
    for (const std::size_t near : {index == 0 ? 0 : index - 1, index, index + 1}) {
      if (near >= versions.size()) continue;
      const Version version = versions[near];
      std::vector<std::size_t> admitted;
      for (std::size_t i = 0; i < scope.targets.size(); ++i) {
        const Target& target = scope.targets[i];
        if (target.since() <= version && spec::allowed({&anywhen}, target, version)) admitted.push_back(i);
      }
      std::shuffle(admitted.begin(), admitted.end(), random);
      for (std::size_t i = 0; i < std::min(kNear, admitted.size()); ++i) into.emplace(admitted[i], version);
    }
  }
}

/// All targets with all versions; or with the last, and a few where another version makes a difference to
/// these subjects.
std::vector<Where> places(const std::vector<Subject>& subjects, const Question& question) {
  const Scope scope{.targets = targets_of(question.specs), .versions = versions_of(question.specs)};
  Chosen chosen;
  for (std::size_t i = 0; i < scope.targets.size(); ++i) {
    chosen.emplace(i, scope.versions.back());
    for (Version version : scope.versions) {
      if (question.options.all && version >= scope.targets[i].since()) chosen.emplace(i, version);
    }
  }
  std::vector<const spec::Need*> needs;  // in the order of the variants, which is the same in every build
  std::unordered_set<const spec::Need*> seen;
  for (const Subject& subject : subjects) {
    for (const Variant& variant : subject.variants) {
      for (const spec::Needs& any : variant.data()->needs)
        std::ranges::copy_if(any, std::back_inserter(needs),
                             [&](const spec::Need* need) { return seen.insert(need).second; });
    }
  }
  for (const spec::Need* need : needs) {
    for (const spec::NeedAlternative& alternative : *need)
      add_near(alternative, scope, question.random, chosen);
  }
  std::vector<Where> result;
  for (const auto& [target, version] : chosen) result.push_back({scope.targets[target], version});
  return result;
}

/// Of each group of subjects that are allowed at the same places, a few; of a form by itself first those with
/// a pair of values that none before has.
std::vector<Subject> pick(std::vector<Subject> subjects, const std::vector<Where>& where, std::size_t limit,
                          const Question& question) {
  std::shuffle(subjects.begin(), subjects.end(), question.random);
  if (question.options.alone) {
    SeenPairs seen;
    std::ranges::stable_partition(
        subjects, [&](const Subject& subject) { return seen.add(*subject.variants.front().data()); });
  }
  std::map<std::vector<bool>, std::size_t> taken;
  std::vector<Subject> result;
  for (Subject& subject : subjects) {
    std::vector<bool> signature;
    for (const Where& w : where) signature.push_back(subject.allowed(w.target, w.version));
    if (taken[signature]++ < limit) result.push_back(std::move(subject));
  }
  return result;
}

}  // namespace

Surroundings surroundings(const spec::FormData& form) {
  const auto own = [](std::string_view mine, std::string_view files) {
    return std::string(mine.empty() ? files : mine);
  };
  return {.module_decls = own(form.module_decls, form.file->module_decls),
          .body_decls = own(form.body_decls, form.file->body_decls),
          .mode = form.mode.starts_with('!') ? std::string() : std::string(form.mode)};
}

namespace {

/// The lines that the specs judge otherwise at some place, with the first and the last such place.
class Differences {
 public:
  void add(const std::string& line, bool wanted, const Where& where, const std::string& message) {
    Difference& entry = found_[{line, wanted}];
    entry.last = std::string(where.target.name()) + ":" + to_string(where.version);
    if (entry.count++ == 0) entry = {entry.last, entry.last, message, 1};
  }

  std::vector<std::string> describe() const {
    std::vector<std::string> texts;
    for (const auto& [key, entry] : found_) {
      texts.push_back(std::string(key.second ? "specs accept" : "specs refuse") +
                      ", ptxas does not: " + key.first + "  @ " + entry.first + " .. " + entry.last + " (" +
                      std::to_string(entry.count) + ") " + entry.message);
    }
    return texts;
  }

 private:
  struct Difference {
    std::string first, last, message;
    std::size_t count = 0;
  };
  std::map<std::pair<std::string, bool>, Difference> found_;  // line, wanted
};

/// The verdicts at a place. One from memory that differs from ours is not believed: ptxas is asked.
std::vector<Verdict> verdicts_at(const Question& question, const std::vector<Subject>& tried,
                                 std::span<const std::string> lines, const Where& where) {
  const Surroundings around = surroundings(question.form);
  const Place place{where.target, where.version, around};
  const Depth depth = where.version == versions_of(question.specs).back() ? Depth::code : Depth::check;
  std::vector<Verdict> verdicts = question.ptxas.judge(lines, place, depth);
  std::vector<std::size_t> doubtful;
  std::vector<std::string> asked;
  for (std::size_t i = 0; i < tried.size(); ++i) {
    if (!verdicts[i].stored || !verdicts[i].judged) continue;
    if (verdicts[i].accepted == tried[i].allowed(where.target, where.version)) continue;
    doubtful.push_back(i);
    asked.push_back(lines[i]);
  }
  std::vector<Verdict> answers = question.ptxas.ask_again(asked, place, depth);
  for (std::size_t i = 0; i < doubtful.size(); ++i) verdicts[doubtful[i]] = std::move(answers[i]);
  return verdicts;
}

/// The subjects to try at each place where every variant is tried: each at the first place that allows it,
/// that is on the lowest target and in the lowest version, and at one more, drawn at random.
std::vector<std::vector<Subject>> drawn(const Question& question, const std::vector<Subject>& subjects,
                                        const std::vector<Where>& where) {
  std::vector<std::vector<Subject>> result(where.size());
  for (const Subject& subject : subjects) {
    const auto allows = [&](const Where& w) { return subject.allowed(w.target, w.version); };
    const auto first = static_cast<std::size_t>(std::ranges::find_if(where, allows) - where.begin());
    const std::size_t other = question.random() % where.size();
    if (first < where.size()) result[first].push_back(subject);
    if (other != first) result[other].push_back(subject);
  }
  return result;
}

/// Compares the verdicts at one place.
void compare_at(const Question& question, const std::vector<Subject>& tried, const Where& where,
                Outcome& outcome, Differences& differences) {
  std::vector<std::string> lines;
  for (const Subject& subject : tried) lines.push_back(subject.line);
  const std::vector<Verdict> verdicts = verdicts_at(question, tried, lines, where);
  outcome.cases += lines.size();
  for (std::size_t i = 0; i < tried.size(); ++i) {
    const bool wanted = tried[i].allowed(where.target, where.version);
    if (!verdicts[i].judged) {
      ++outcome.unjudged;
      continue;
    }
    if (verdicts[i].accepted) ++outcome.taken;
    if (wanted) ++outcome.allowed;
    if (wanted != verdicts[i].accepted) differences.add(tried[i].line, wanted, where, verdicts[i].message);
  }
}

}  // namespace

std::vector<Where> places_of(const Question& question, std::span<const Variant> variants) {
  return places(subjects(question, variants), question);
}

Outcome check_legality(const Question& question, std::span<const Variant> variants) {
  Outcome outcome;
  std::vector<Subject> all = subjects(question, variants);
  const std::vector<Where> where = places(all, question);
  const std::size_t limit = question.options.alone ? kAlone : kSome;
  const bool every = question.options.all || question.options.variants;
  const std::vector<Subject> tried =
      every || all.size() <= kFew * limit ? std::move(all) : pick(std::move(all), where, limit, question);
  outcome.lines = tried.size();
  Differences differences;
  if (question.options.variants) {
    const std::vector<std::vector<Subject>> parts = drawn(question, tried, where);
    for (std::size_t i = 0; i < where.size(); ++i)
      if (!parts[i].empty()) compare_at(question, parts[i], where[i], outcome, differences);
  } else {
    for (const Where& one : where) compare_at(question, tried, one, outcome, differences);
  }
  outcome.disagreements = differences.describe();
  return outcome;
}

}  // namespace ptxloom::oracle
