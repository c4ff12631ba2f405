// SPDX-License-Identifier: Apache-2.0
#include "oracle/compare.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <thread>
#include <unordered_set>

#include "oracle/instance.hpp"

namespace ptxloom::oracle {
namespace {

constexpr std::size_t kCompared = 100;   // of a form, unless all are tried
constexpr unsigned kNoneIsProven = ~0U;  // what is known is not asked again

/// What the verdicts on a line differ in.
enum class Shift : std::uint8_t { taken, refused, newer };

struct Divergence {
  std::string change;   // as neighbours say it; "" for a variant
  std::string message;  // of the one that refuses
  std::set<std::string> places;
};

/// By change and line.
using Divergences = std::map<std::pair<Shift, std::string>, Divergence>;

struct Lines {
  std::vector<std::string> texts, changes;
};

class FormComparison {
 public:
  FormComparison(const std::shared_ptr<const Specs>& specs, const spec::FormData& form,
                 const CompareOptions& options)
      : specs_(*specs),
        form_(form),
        options_(options),
        around_(surroundings(form)),
        common_(std::min(options.assemblers[0].toolkit->ptx, options.assemblers[1].toolkit->ptx)),
        older_(judge_of(options.assemblers[0])),
        newer_(judge_of(options.assemblers[1])) {}

  Divergences run() {
    std::vector<unsigned> words;
    for (const char c : form_.name) words.push_back(static_cast<unsigned char>(c));
    words.push_back(options_.forms.options.seed);
    std::seed_seq sequence(words.begin(), words.end());
    std::mt19937 random(sequence);
    const ForeignWords none;
    const Ours unused(nullptr);
    const Question question{specs_, form_, options_.forms.options, none, none, none, newer_, unused, random};
    compare_variants(question);
    compare_neighbours(question);
    return std::move(found_);
  }

  std::size_t lines() const { return tried_.size(); }

 private:
  Judge judge_of(const Assembler& assembler) const {
    return {assembler.program, {.known = assembler.known, .proven = kNoneIsProven}};
  }

  void compare_variants(const Question& question) {
    std::vector<Variant> variants = specs_.variants(form_.name);
    if (!options_.forms.options.all) variants = sample(std::move(variants), kCompared, question.random);
    Lines lines;
    for (const Variant& variant : variants) {
      for (std::string& line : lines_of(variant)) lines.texts.push_back(std::move(line));
    }
    lines.changes.resize(lines.texts.size());
    for (const Where& where : places_of(question, variants)) {
      if (where.version <= common_ && where.target.since() <= common_) at(where, lines);
    }
    in_own_version(targets_of(specs_), lines);
  }

  void compare_neighbours(const Question& question) {
    Lines lines;
    for (Case& one : neighbours(question)) {
      lines.texts.push_back(std::move(one.line));
      lines.changes.push_back(std::move(one.change));
    }
    const std::vector<Target> targets = neighbour_targets(question);
    for (const Target& target : targets) {
      if (target.since() <= common_) at({target, common_}, lines);
    }
    in_own_version(targets, lines);
  }

  void note(Shift kind, const Lines& lines, std::size_t line, const std::string& place,
            const std::string& message) {
    Divergence& difference = found_[{kind, lines.texts[line]}];
    difference.change = lines.changes[line];
    difference.places.insert(place);
    if (difference.message.empty()) difference.message = message;
  }

  /// Both in the same PTX version.
  void at(const Where& where, const Lines& lines) {
    const Place place{where.target, where.version, around_};
    const Depth depth = where.version == common_ ? Depth::code : Depth::check;
    const std::vector<Verdict> before = older_.judge(lines.texts, place, depth);
    const std::vector<Verdict> after = newer_.judge(lines.texts, place, depth);
    const std::string name = std::string(where.target.name()) + ':' + to_string(where.version);
    for (std::size_t i = 0; i < lines.texts.size(); ++i) {
      tried_.insert(lines.texts[i]);
      if (before[i].accepted && before[i].judged)
        taken_.insert(lines.texts[i] + '@' + std::string(where.target.name()));
      if ((before[i].accepted && before[i].judged) || (after[i].accepted && after[i].judged))
        taken_somewhere_.insert(lines.texts[i]);
      if (!before[i].judged || !after[i].judged || before[i].accepted == after[i].accepted) continue;
      // A line beside others may be refused for them: alone it is judged by itself.
      const std::span<const std::string> one(&lines.texts[i], 1);
      const Verdict first = older_.judge(one, place, depth).front(),
                    second = newer_.judge(one, place, depth).front();
      if (!first.judged || !second.judged || first.accepted == second.accepted) continue;
      note(second.accepted ? Shift::taken : Shift::refused, lines, i, name,
           (second.accepted ? first : second).message);
    }
  }

  /// What the newer one takes in a PTX version that the older one does not read, and not before it. Of a
  /// target that the older one lacks, only what no other target has: the rest is new for the target's sake.
  void in_own_version(std::span<const Target> targets, const Lines& lines) {
    const Version own = options_.assemblers[1].toolkit->ptx;
    if (own <= common_) return;
    for (const Target& target : targets) {
      if (target.since() > common_) continue;
      Lines left = left_of(lines, [&](const std::string& line) {
        return taken_.contains(line + '@' + std::string(target.name()));
      });
      keep_taken(left, target, own);
      taken_somewhere_.insert(left.texts.begin(), left.texts.end());
      drop_taken(left, target, common_);
      note_newer(target, std::move(left));
    }
    for (const Target& target : targets) {
      if (target.since() <= common_ || target.since() > own) continue;
      Lines left = left_of(lines, [&](const std::string& line) { return taken_somewhere_.contains(line); });
      keep_taken(left, target, own);
      for (const Target& other : targets_of(specs_)) {
        if (other.since() <= common_) drop_taken(left, other, own);
      }
      note_newer(target, std::move(left));
    }
  }

  template <class Predicate>
  static Lines left_of(const Lines& lines, Predicate dropped) {
    Lines left;
    for (std::size_t i = 0; i < lines.texts.size(); ++i) {
      if (dropped(lines.texts[i])) continue;
      left.texts.push_back(lines.texts[i]);
      left.changes.push_back(lines.changes[i]);
    }
    return left;
  }

  /// By the newer one.
  std::unordered_set<std::string> taken_of(const Lines& lines, const Target& target, Version version) {
    const Depth depth = version == options_.assemblers[1].toolkit->ptx ? Depth::code : Depth::check;
    const std::vector<Verdict> verdicts = newer_.judge(lines.texts, {target, version, around_}, depth);
    std::unordered_set<std::string> taken;
    for (std::size_t i = 0; i < lines.texts.size(); ++i) {
      if (verdicts[i].accepted && verdicts[i].judged) taken.insert(lines.texts[i]);
    }
    return taken;
  }

  void keep_taken(Lines& lines, const Target& target, Version version) {
    const auto taken = taken_of(lines, target, version);
    lines = left_of(lines, [&](const std::string& line) { return !taken.contains(line); });
  }

  void drop_taken(Lines& lines, const Target& target, Version version) {
    const auto taken = taken_of(lines, target, version);
    lines = left_of(lines, [&](const std::string& line) { return taken.contains(line); });
    taken_somewhere_.insert(taken.begin(), taken.end());
  }

  /// Lines that the newer one takes in its own PTX version, each with the first version that takes it.
  void note_newer(const Target& target, Lines lines) {
    for (const ToolkitInfo& toolkit : toolkits()) {
      if (toolkit.ptx <= common_ || toolkit.ptx < target.since()) continue;
      const auto taken = taken_of(lines, target, toolkit.ptx);
      const std::string place = std::string(target.name()) + ':' + to_string(toolkit.ptx);
      for (std::size_t i = 0; i < lines.texts.size(); ++i) {
        if (taken.contains(lines.texts[i])) note(Shift::newer, lines, i, place, "");
      }
      lines = left_of(lines, [&](const std::string& line) { return taken.contains(line); });
      if (toolkit.ptx == options_.assemblers[1].toolkit->ptx) break;
    }
  }

  const Specs& specs_;
  const spec::FormData& form_;
  const CompareOptions& options_;
  Surroundings around_;
  Version common_;
  Judge older_, newer_;
  Divergences found_;
  std::unordered_set<std::string> tried_;
  std::unordered_set<std::string> taken_;            // "LINE@TARGET", by the older one
  std::unordered_set<std::string> taken_somewhere_;  // on a target that the older one has
};

/// "sm_90a sm_100a" of "sm_90a:9.0", "sm_100a:8.8", with the versions where they are not `usual`.
std::string text_of(const std::set<std::string>& places, const std::string& usual) {
  std::string text;
  for (const std::string& place : places) {
    const std::size_t colon = place.find(':');
    text += (text.empty() ? "" : " ") + (place.substr(colon + 1) == usual ? place.substr(0, colon) : place);
  }
  return text;
}

/// Lines that differ: variants of the form, and what stands next to them.
struct Counts {
  std::size_t variants = 0, neighbours = 0;
};

class Report {
 public:
  explicit Report(const CompareOptions& options) : options_(options) {
    const Assembler &older = options.assemblers[0], &newer = options.assemblers[1];
    common_ = to_string(std::min(older.toolkit->ptx, newer.toolkit->ptx));
    const std::string before = to_string(older.release), after = to_string(newer.release);
    titles_ = {{Shift::taken, after + " takes, " + before + " refuses, PTX " + common_},
               {Shift::refused, after + " refuses, " + before + " takes, PTX " + common_},
               {Shift::newer, after + " takes in newer PTX"}};
  }

  void add(std::string_view form, std::size_t lines, const Divergences& differences) {
    std::printf("%s: %zu lines\n", std::string(form).c_str(), lines);
    std::map<Shift, Counts> counts;
    for (const bool variants : {true, false}) {  // first what the specs know
      for (const auto& [key, difference] : differences) {
        if (difference.change.empty() != variants) continue;
        const auto& [kind, line] = key;
        std::set<std::string>& targets = summary_[kind][std::string(form)];
        for (const std::string& place : difference.places) targets.insert(place.substr(0, place.find(':')));
        Counts& count = counts[kind];
        ++(variants ? count.variants : count.neighbours);
        if (count.variants + count.neighbours > options_.forms.options.shown) continue;
        std::printf("  %s: %s%s  @ %s  %s\n", titles_.at(kind).c_str(), line.c_str(),
                    variants ? "" : ("  (" + difference.change + ")").c_str(),
                    text_of(difference.places, common_).c_str(), difference.message.c_str());
      }
    }
    for (const auto& [kind, count] : counts) {
      total_ += count.variants + count.neighbours;
      lines_of_[kind][std::string(form)] = count;
    }
    std::fflush(stdout);
  }

  /// Forms and targets, a table of each kind.
  std::size_t finish() const {
    for (const auto& [kind, title] : titles_) {
      const auto found = summary_.find(kind);
      std::printf("\n%s: %zu forms\n", title.c_str(), found == summary_.end() ? 0 : found->second.size());
      if (found == summary_.end()) continue;
      for (const auto& [form, targets] : found->second) {
        const Counts& count = lines_of_.at(kind).at(form);
        std::printf("  %-40s %5zu variants %5zu neighbours  %s\n", form.c_str(), count.variants,
                    count.neighbours, text_of(targets, "").c_str());
      }
    }
    return total_;
  }

 private:
  const CompareOptions& options_;
  std::string common_;
  std::map<Shift, std::string> titles_;
  std::map<Shift, std::map<std::string, std::set<std::string>>> summary_;
  std::map<Shift, std::map<std::string, Counts>> lines_of_;
  std::size_t total_ = 0;
};

}  // namespace

std::size_t compare_assemblers(const std::shared_ptr<const Specs>& specs, const CompareOptions& options) {
  const auto forms = chosen_forms(*specs, options.forms);
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  Report report(options);
  const auto work = [&] {
    for (std::size_t i = next++; i < forms.size(); i = next++) {
      FormComparison comparison(specs, *forms[i], options);
      const Divergences found = comparison.run();
      const std::lock_guard lock(mutex);
      report.add(forms[i]->name, comparison.lines(), found);
    }
  };
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < options.forms.jobs; ++i) threads.emplace_back(work);
  }
  return report.finish();
}

}  // namespace ptxloom::oracle
