// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "oracle/judge.hpp"
#include "oracle/ours.hpp"
#include "ptxloom/specs.hpp"
#include "spec/database.hpp"

// What ptxas is asked about the specs. A case is a line, a target and a PTX version; ptxas's verdict on it
// and ours must be the same. Lines are made of the variants of a form, and of what stands next to them.
namespace ptxloom::oracle {

struct Options {
  bool all = false;          // every variant, version and neighbour; else a sample of large forms
  bool variants = false;     // every variant at two places, and no neighbour
  bool alone = false;        // one form, of which more is tried than of each among all
  unsigned seed = 0;         // of the sample
  std::size_t shown = 8;     // disagreements printed of each piece
  bool until_first = false;  // stop where there is a disagreement
};

struct Outcome {
  std::size_t cases = 0;
  std::size_t lines = 0;  // different texts among them
  std::vector<std::string> disagreements = {};
  std::size_t foreign = 0;  // words that ptxas does not look at, refused by us on purpose
  std::set<std::string> foreign_words = {};
  std::size_t unjudged = 0;  // cases that ptxas crashed on
  std::size_t stricter = 0;  // cases that we refuse on purpose
  std::size_t expanded = 0;  // cases that it refused for what it made of them
  std::size_t taken = 0;     // cases that it took
  std::size_t allowed = 0;   // cases that the specs allow
  std::size_t barren = 0;    // forms of which it took no case, so that nothing was seen of their legality
  Recalled recalled = {};

  void add(Outcome other);
};

/// The PTX versions that are tried, in ascending order: those that the specs' assembler reads.
std::span<const Version> versions_of(const Specs& specs);
/// The targets that the last of them has.
std::vector<Target> targets_of(const Specs& specs);

/// Words that ptxas takes on an instruction and does not look at, by form; read from a reviewed list, so that
/// a modifier missing from the specs cannot hide among them. A form without an entry takes all words that its
/// family does not know for foreign. A line is "FORM: WORD..." for all assemblers, or "FORM 13.0-13.2:
/// WORD..." for those of some releases of CUDA, as target::parse_releases reads them.
class ForeignWords {
 public:
  /// Those that the assembler of this release takes, or if it did not write the list, the next ones before
  /// and after it that did; without one, those that any takes.
  static ForeignWords read(const std::filesystem::path& file,
                           std::optional<Version> assembler = std::nullopt);
  /// Writes these as the words that this assembler takes into the file, which keeps those of others.
  void bless(const std::filesystem::path& file, Version assembler) const;
  bool contains(std::string_view form, std::string_view word) const;
  std::set<std::string> of(std::string_view form) const;
  void set(std::string_view form, std::set<std::string> words);

 private:
  std::map<std::string, std::set<std::string>, std::less<>> words_;
};

struct Question {
  const Specs& specs;
  const spec::FormData& form;
  const Options& options;
  const ForeignWords &foreign, &unread, &stricter;
  Judge& ptxas;
  const Ours& ours;
  std::mt19937& random;
};

struct Where {
  Target target;
  Version version;
};
/// All targets with all versions; or with the last, and a few where another version makes a difference to
/// these variants.
std::vector<Where> places_of(const Question& question, std::span<const Variant> variants);

/// Each of these variants assembles with each target and PTX version that has it, and with no other. Without
/// Options::all a sample of them.
Outcome check_legality(const Question& question, std::span<const Variant> variants);

/// What stands next to a variant gets ptxas's verdict on every target: another word of the same class, two of
/// them, a word left out, added, written twice or elsewhere, another operand. On targets that lack an
/// instruction ptxas writes others in its place, and may refuse those: that it names them shows it, and
/// nothing is said of the line then.
Outcome check_neighbours(const Question& question);

/// A text close to a variant.
struct Case {
  std::string line;
  std::string change;        // what was changed: "ftz=sat"
  std::string foreign = {};  // an added word that no form of the family knows, or "twice:" and a repeated one
};

/// What is tried next to the variants of a form.
std::vector<Case> neighbours(const Question& question);
/// The targets that neighbours are tried on.
std::vector<Target> neighbour_targets(const Question& question);

/// Other words in the slots, and in the fixed parts of the text.
std::vector<Case> other_words(const Question& question, std::span<const Variant> sources);
/// The form's words in combinations that it lacks.
std::vector<Case> unknown_words(const Question& question);
/// Words added, written twice, and in another order.
std::vector<Case> other_spellings(const Question& question, std::span<const Variant> sources);
/// Operands of other widths, classes, counts and values; one less, one more.
std::vector<Case> other_operands(const Question& question, std::span<const Variant> sources);

/// Instructions of real code with the verdict of one ptxas, which the file names, on many targets: `check`
/// says the same of that one.
Outcome check_uses(std::span<const std::filesystem::path> overlays, const std::filesystem::path& file);

/// Every name in the manual's list of instructions begins an opcode of some form.
Outcome check_manual(const Specs& specs, const std::filesystem::path& names);

/// Counts of variants by form against the golden file; with `bless` the file is written anew.
Outcome check_counts(const Specs& specs, const std::filesystem::path& golden, bool bless);

/// What an outcome leaves unjudged beyond the limits of its kind in the file; those of a tenth are others,
/// and an assembler may have its own.
std::vector<std::string> beyond_limits(const Outcome& outcome, const std::filesystem::path& file, bool tenth,
                                       std::optional<Version> assembler = std::nullopt);

/// A number for what the form, and those that share its mnemonics, say of every line, target and version: two
/// forms with the same one are the same to whoever uses them.
std::size_t digest(const Specs& specs, const spec::FormData& form);

Surroundings surroundings(const spec::FormData& form);

/// The pairs of values that variants have.
class SeenPairs {
 public:
  /// True if the variant has a new one.
  bool add(const spec::VariantData& data);

 private:
  std::unordered_set<std::size_t> seen_;
};

/// At most `limit` of the variants, such that as many pairs of values as possible occur.
std::vector<Variant> sample(std::vector<Variant> variants, std::size_t limit, std::mt19937& random);

}  // namespace ptxloom::oracle
