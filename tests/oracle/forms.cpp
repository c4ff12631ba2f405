// SPDX-License-Identifier: Apache-2.0
#include "oracle/forms.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <thread>

namespace ptxloom::oracle {
namespace {

// Variants of a form that the assembler lacks: an unknown mnemonic ends its run, so that it reads them one by
// one.
constexpr std::size_t kLacked = 8;
constexpr std::size_t kPiece = 2000;  // variants of a piece, a minute or two on all targets and versions

/// The sample of a piece depends on no other piece.
std::mt19937 random_for(const spec::FormData& form, std::size_t begin, unsigned seed) {
  std::vector<unsigned> words{seed};
  for (const char c : form.name) words.push_back(static_cast<unsigned char>(c));
  if (begin > 0) words.push_back(static_cast<unsigned>(begin));
  std::seed_seq sequence(words.begin(), words.end());
  return std::mt19937(sequence);
}

/// Whether the assembler of these specs has none of the variants anywhere.
bool lacks_all(const Specs& specs, std::span<const Variant> variants) {
  const std::vector<Target> targets = targets_of(specs);
  const Version newest = versions_of(specs).back();
  return std::ranges::none_of(variants, [&](Variant variant) {
    return std::ranges::any_of(targets, [&](const Target& target) {
      const std::optional<Version> since = variant.since(target);
      return since && *since <= newest;
    });
  });
}

/// Whether any variant of the form has a need with such an alternative. `specs` are those for no assembler,
/// which keep the facts of all.
template <class Predicate>
bool any_need(const Specs& specs, const spec::FormData& form, Predicate wanted) {
  for (const Variant& variant : specs.variants(form.name)) {
    for (const spec::Needs& any : variant.data()->needs) {
      for (const spec::Need* const need : any)
        if (std::ranges::any_of(*need, wanted)) return true;
    }
  }
  return false;
}

/// Whether it needs a PTX version that the oldest release does not read, or has facts of some assemblers
/// only.
bool differs(const Specs& specs, const spec::FormData& form) {
  constexpr Version kOldest{13, 0};  // release of CUDA that the specs are proven against
  const Version oldest = find_toolkit(kOldest)->ptx;
  return any_need(specs, form, [&](const spec::NeedAlternative& any) {
    return any.from > oldest || any.assemblers != target::Releases{};
  });
}

bool needs_since(const Specs& specs, const spec::FormData& form, Version since) {
  return any_need(specs, form, [&](const spec::NeedAlternative& any) { return any.from >= since; });
}

}  // namespace

void Outcome::add(Outcome other) {
  cases += other.cases;
  lines += other.lines;
  foreign += other.foreign;
  foreign_words.merge(other.foreign_words);
  unjudged += other.unjudged;
  expanded += other.expanded;
  stricter += other.stricter;
  taken += other.taken;
  allowed += other.allowed;
  barren += other.barren;
  recalled.add(std::move(other.recalled));
  for (std::string& text : other.disagreements) disagreements.push_back(std::move(text));
}

void print(std::string_view what, const Outcome& outcome, double seconds, std::size_t shown) {
  std::printf("%-28.*s %8zu cases  %4zu disagreements  %3zu foreign words  %.1f s",
              static_cast<int>(what.size()), what.data(), outcome.cases, outcome.disagreements.size(),
              outcome.foreign, seconds);
  if (outcome.unjudged > 0) std::printf("  ptxas crashes on %zu", outcome.unjudged);
  if (outcome.expanded > 0) std::printf("  refuses its own expansion of %zu", outcome.expanded);
  std::printf("\n");
  for (std::size_t i = 0; i < std::min(shown, outcome.disagreements.size()); ++i) {
    std::printf("    %s\n", outcome.disagreements[i].c_str());
  }
  std::fflush(stdout);
}

std::string FormsCheck::Piece::name() const {
  std::string text(form->name);
  if (begin == end) return text + " neighbours";
  if (drawn) text += " drawn";
  return neighbours ? text : text + " " + std::to_string(begin) + "-" + std::to_string(end);
}

FormsCheck::FormsCheck(std::shared_ptr<const Specs> specs, FormsOptions options, std::filesystem::path ptxas)
    : specs_(std::move(specs)),
      options_(std::move(options)),
      ptxas_(std::move(ptxas)),
      foreign_(ForeignWords::read(options_.foreign, options_.assembler)),
      unread_(ForeignWords::read(options_.unread, options_.assembler)),
      stricter_(ForeignWords::read(options_.stricter, options_.assembler)),
      records_(options_.records.empty()
                   ? Records()
                   : Records(options_.records, options_.assembler ? to_string(*options_.assembler) : "")) {}

Outcome FormsCheck::run() {
  for (const Piece& piece : pieces()) {
    if (const Outcome* const known = records_.find(piece.name()))
      note(piece, *known);
    else
      open_.push_back(piece);
  }
  std::reverse(open_.begin(), open_.end());
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < options_.jobs; ++i) threads.emplace_back([&] { work(); });
  threads.clear();
  return std::move(total_);
}

std::vector<const spec::FormData*> chosen_forms(const Specs& specs, const FormsOptions& options) {
  const auto all = specs.database().forms();
  std::vector<const spec::FormData*> chosen(all.begin(), all.end());
  if (!options.form.empty()) {
    std::erase_if(chosen, [&](const spec::FormData* form) { return form->name != options.form; });
    if (chosen.empty())
      throw std::invalid_argument("no form is called " + options.form + "; --list names them");
  }
  if (options.differing || options.since) {
    const Specs of_no_assembler;
    std::erase_if(chosen, [&](const spec::FormData* form) {
      return (options.differing && !differs(of_no_assembler, *form)) ||
             (options.since && !needs_since(of_no_assembler, *form, *options.since));
    });
  }
  if (!options.tenth) return chosen;
  std::mt19937 random(options.options.seed);
  std::shuffle(chosen.begin(), chosen.end(), random);
  chosen.resize((chosen.size() + 9) / 10);
  return chosen;
}

/// A form each; of everything, large forms in many pieces and first, so that no thread is left with one.
std::vector<FormsCheck::Piece> FormsCheck::pieces() const {
  std::vector<Piece> result;
  for (const spec::FormData* const form : chosen_forms(*specs_, options_)) {
    const std::size_t variants = specs_->variants(form->name).size();
    if (!options_.options.all && !options_.options.variants) {
      result.push_back({.form = form, .end = variants, .neighbours = true});
      continue;
    }
    for (std::size_t begin = 0; begin < variants; begin += kPiece)
      result.push_back({.form = form,
                        .begin = begin,
                        .end = std::min(begin + kPiece, variants),
                        .drawn = options_.options.variants});
    if (options_.options.all) result.push_back({.form = form, .neighbours = true});
  }
  if (options_.options.all || options_.options.variants)
    std::stable_partition(result.begin(), result.end(), [](const Piece& piece) { return piece.begin > 0; });
  return result;
}

void FormsCheck::work() {
  const Ours ours(specs_);
  while (true) {
    Piece piece;
    {
      const std::lock_guard lock(mutex_);
      if (open_.empty() || (options_.options.until_first && !total_.disagreements.empty())) return;
      piece = open_.back();
      open_.pop_back();
    }
    const auto start = std::chrono::steady_clock::now();
    Outcome outcome = check(piece, ours);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    const std::lock_guard lock(mutex_);
    print(piece.name(), outcome, seconds.count(), options_.options.shown);
    records_.add(piece.name(), options_.options.seed, outcome);
    note(piece, std::move(outcome));
  }
}

/// A judge of its own for each piece, so that what it learns of crashes depends on no other piece.
Outcome FormsCheck::check(const Piece& piece, const Ours& ours) const try {
  Judge ptxas(ptxas_, options_.memory);
  std::mt19937 random = random_for(*piece.form, piece.begin, options_.options.seed);
  const Question question{*specs_, *piece.form, options_.options, foreign_, unread_, stricter_, ptxas,
                          ours,    random};
  const std::vector<Variant> variants = specs_->variants(piece.form->name);
  std::span<const Variant> tried = std::span(variants).subspan(piece.begin, piece.end - piece.begin);
  if (tried.size() > kLacked && options_.assembler && lacks_all(*specs_, tried)) tried = tried.first(kLacked);
  Outcome outcome = check_legality(question, tried);
  // An assembler that is not the newest may lack a form, as the specs say. It takes minutes to find out that
  // such an assembler, which reads some lines only one at a time, takes none of its neighbours.
  const bool newest = !options_.assembler || *options_.assembler >= toolkits().back().cuda;
  const bool lacks = outcome.allowed == 0 && !newest && piece.begin < piece.end;
  const bool enough = lacks || (options_.options.until_first && !outcome.disagreements.empty());
  if (piece.neighbours && !enough) outcome.add(check_neighbours(question));
  if (outcome.taken == 0 && !lacks && piece.begin < piece.end) outcome.barren = 1;
  outcome.recalled = ptxas.recalled();
  for (const std::string& wrong : outcome.recalled.wrong) outcome.disagreements.push_back(wrong);
  return outcome;
} catch (const std::runtime_error& error) {
  return {.disagreements = {error.what()}};
}

void FormsCheck::note(const Piece& piece, Outcome outcome) {
  if (piece.neighbours) found_.set(piece.form->name, outcome.foreign_words);
  total_.add(std::move(outcome));
}

}  // namespace ptxloom::oracle
