// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ptxloom/specs.hpp"
#include "spec/arena.hpp"
#include "spec/directives.hpp"
#include "spec/reader.hpp"
#include "spec/variant.hpp"
#include "spec/vocabulary.hpp"

// All forms: the built-in ones, overridden by those of overlay folders. A form is compiled when an opcode
// with its mnemonic is first looked up; the matches of an opcode are cached. One lock guards everything:
// shared for cached results, exclusive to compute new ones.
namespace ptxloom::spec {

struct StringHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

class Database {
 public:
  /// Overlay forms are compiled, joined and linted at once, so that a malformed one is rejected here.
  /// With an assembler, only what that of this release of CUDA knows.
  Database(const SpecData& compiled, std::span<const std::filesystem::path> overlays,
           std::optional<Version> assembler = std::nullopt);

  const Vocabulary& vocabulary() const { return vocabulary_; }
  const Directives& directives() const { return directives_; }
  std::span<const FormData* const> forms() const { return forms_; }
  const FormData* find_form(std::string_view name) const;
  /// The form with this name, else the forms of this family.
  std::vector<const FormData*> family(std::string_view word) const;
  std::vector<const FormData*> with_mnemonic(std::string_view mnemonic) const;

  std::span<const Variant> match(std::string_view opcode) const;
  /// For one form alone: the `nth`, from 0, of those that have the opcode; empty after the last. Forms after
  /// it are not compiled.
  std::span<const Variant> match_form(std::string_view opcode, std::size_t nth) const;
  std::vector<Variant> variants(const FormData& form) const;

  /// The compiled form, which does not change any more.
  const Form& form(const FormData& data) const;
  /// Calls `use` with the form's variants while holding the lock.
  void with(const FormData& form, const std::function<void(FormVariants&)>& use) const;
  /// A cached value for a key, initially made by `make` (which may use `with`).
  Variant remember(const std::string& key, const std::function<Variant()>& make) const;
  /// The same for what is wrong with an opcode; only some of these are kept.
  Diagnostic remember_reason(const std::string& key, const std::function<Diagnostic()>& make) const;

 private:
  /// The matches of an opcode in the forms with its mnemonic, as far as they were queried.
  struct Matches {
    std::vector<std::vector<Variant>> by_form;  // none of them is empty
    std::size_t asked = 0;
  };

  FormVariants& compiled_form(const FormData& form) const;
  void read_overlays(std::span<const std::filesystem::path> overlays);

  Arena arena_;
  std::vector<std::unique_ptr<ReadSpecs>> overlays_;
  Vocabulary vocabulary_;
  Directives directives_;
  std::vector<const FormData*> forms_;
  std::unordered_map<std::string_view, std::size_t> by_name_;
  std::unordered_map<std::string_view, std::vector<const FormData*>> by_mnemonic_;

  mutable std::shared_mutex mutex_;
  mutable std::unordered_map<const FormData*, std::unique_ptr<FormVariants>> compiled_;
  mutable std::unordered_map<std::string, Matches, StringHash, std::equal_to<>> matches_;
  mutable std::unordered_map<std::string, std::vector<Variant>, StringHash, std::equal_to<>> matched_;
  mutable std::unordered_map<std::string, Variant, StringHash, std::equal_to<>> remembered_;
  mutable std::unordered_map<std::string, Diagnostic, StringHash, std::equal_to<>> reasons_;
};

/// Whether a form's `words` contain this one.
bool has_word(std::string_view words, std::string_view word);

/// The opcode up to its first dot.
std::string_view mnemonic_of(std::string_view opcode);

}  // namespace ptxloom::spec
