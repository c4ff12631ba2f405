// SPDX-License-Identifier: Apache-2.0
#include "spec/database.hpp"

#include <algorithm>

#include "spec/lint.hpp"

namespace ptxloom::spec {

namespace {

/// Whether the form's opcodes can contain all words of this one: a quick rejection before the form is
/// compiled.
bool may_have(const FormData& form, std::string_view opcode) {
  while (!opcode.empty()) {
    const std::string_view word = mnemonic_of(opcode);
    if (!has_word(form.words, word)) return false;
    opcode.remove_prefix(std::min(word.size() + 1, opcode.size()));
  }
  return true;
}

/// The PTX versions that an assembler reads; without one all that are known.
std::span<const Version> versions_read_by(std::optional<Version> assembler) {
  const std::span<const Version> all = ptx_versions();
  if (!assembler) return all;
  const ToolkitInfo* const toolkit = find_toolkit(*assembler);
  const auto end = toolkit == nullptr ? all.begin() : std::ranges::upper_bound(all, toolkit->ptx);
  return all.first(static_cast<std::size_t>(end - all.begin()));
}

}  // namespace

bool has_word(std::string_view words, std::string_view word) {
  for (std::size_t at = words.find(word); at != words.npos; at = words.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if (at > 0 && words[at - 1] == '.' && end < words.size() && words[end] == '.') return true;
  }
  return false;
}

std::string_view mnemonic_of(std::string_view opcode) { return opcode.substr(0, opcode.find('.')); }

Database::Database(const SpecData& compiled, std::span<const std::filesystem::path> overlays,
                   std::optional<Version> assembler) {
  vocabulary_.restrict_to(assembler);
  vocabulary_.add(targets());
  vocabulary_.add(compiled.types);
  vocabulary_.add(versions_read_by(assembler));
  vocabulary_.add(compiled.words);
  vocabulary_.add(compiled.surroundings);
  directives_.add(compiled.directives, vocabulary_);
  forms_.reserve(compiled.forms.size());
  by_name_.reserve(compiled.forms.size());
  for (const FormData& form : compiled.forms) {
    by_name_[form.name] = forms_.size();
    forms_.push_back(&form);
  }
  read_overlays(overlays);
  for (const FormData* form : forms_) {
    for (std::string_view mnemonic : form->mnemonics) by_mnemonic_[mnemonic].push_back(form);
  }
}

void Database::read_overlays(std::span<const std::filesystem::path> overlays) {
  for (const std::filesystem::path& folder : overlays) {
    ReadSpecs& read = *overlays_.emplace_back(std::make_unique<ReadSpecs>());
    read_folder(folder, arena_, read);
    vocabulary_.add(read.targets);
    vocabulary_.add(read.versions);
    vocabulary_.add(read.types);
    vocabulary_.add(read.words);
    vocabulary_.add(read.surroundings);
    directives_.add(read.directives, vocabulary_);
    for (FormData& form : read.forms) {
      FormVariants& variants = compiled_form(form);
      lint(variants);
      form.mnemonics = arena_.keep(mnemonics(variants.form()));
      form.words = arena_.keep(words(variants.form()));
      const auto [known, added] = by_name_.try_emplace(form.name, forms_.size());
      if (added) {
        forms_.push_back(&form);
      } else {
        forms_[known->second] = &form;
      }
    }
  }
}

const FormData* Database::find_form(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : forms_[found->second];
}

std::vector<const FormData*> Database::family(std::string_view word) const {
  if (const FormData* form = find_form(word)) return {form};
  std::vector<const FormData*> result;
  std::copy_if(forms_.begin(), forms_.end(), std::back_inserter(result),
               [&](const FormData* form) { return form->family == word; });
  return result;
}

std::vector<const FormData*> Database::with_mnemonic(std::string_view mnemonic) const {
  const auto found = by_mnemonic_.find(mnemonic);
  return found == by_mnemonic_.end() ? std::vector<const FormData*>{} : found->second;
}

FormVariants& Database::compiled_form(const FormData& form) const {
  auto& variants = compiled_[&form];
  if (variants == nullptr) variants = std::make_unique<FormVariants>(form, vocabulary_);
  return *variants;
}

std::span<const Variant> Database::match_form(std::string_view opcode, std::size_t nth) const {
  {
    const std::shared_lock lock(mutex_);
    const auto known = matches_.find(opcode);
    if (known != matches_.end() && nth < known->second.by_form.size()) return known->second.by_form[nth];
  }
  const auto forms = by_mnemonic_.find(mnemonic_of(opcode));
  if (forms == by_mnemonic_.end()) return {};
  const std::unique_lock lock(mutex_);
  const auto known = matches_.find(opcode);
  Matches fresh;  // kept only on a match: the number of wrong opcodes is unlimited
  Matches& matches = known == matches_.end() ? fresh : known->second;
  while (matches.by_form.size() <= nth && matches.asked < forms->second.size()) {
    const FormData& form = *forms->second[matches.asked++];
    std::vector<Variant> found;
    if (may_have(form, opcode)) compiled_form(form).match(opcode, found);
    if (!found.empty()) matches.by_form.push_back(std::move(found));
  }
  if (matches.by_form.size() <= nth) return {};
  const std::span<const Variant> found = matches.by_form[nth];
  if (known == matches_.end()) matches_.try_emplace(std::string(opcode), std::move(fresh));
  return found;
}

std::span<const Variant> Database::match(std::string_view opcode) const {
  {
    const std::shared_lock lock(mutex_);
    if (const auto known = matched_.find(opcode); known != matched_.end()) return known->second;
  }
  if (!by_mnemonic_.contains(mnemonic_of(opcode))) return {};
  std::vector<Variant> found;
  for (std::size_t nth = 0;; ++nth) {
    const std::span<const Variant> of_form = match_form(opcode, nth);
    if (of_form.empty()) break;
    found.insert(found.end(), of_form.begin(), of_form.end());
  }
  if (found.empty()) {
    const std::string once = vocabulary_.without_repeats(opcode);
    return once.size() < opcode.size() ? match(once) : std::span<const Variant>{};
  }
  std::stable_sort(found.begin(), found.end(),
                   [](Variant a, Variant b) { return a.undocumented() < b.undocumented(); });
  const std::unique_lock lock(mutex_);
  return matched_.try_emplace(std::string(opcode), std::move(found)).first->second;
}

std::vector<Variant> Database::variants(const FormData& form) const {
  const std::unique_lock lock(mutex_);
  return compiled_form(form).all();
}

const Form& Database::form(const FormData& data) const {
  {
    const std::shared_lock lock(mutex_);
    if (const auto known = compiled_.find(&data); known != compiled_.end()) return known->second->form();
  }
  const std::unique_lock lock(mutex_);
  return compiled_form(data).form();
}

void Database::with(const FormData& form, const std::function<void(FormVariants&)>& use) const {
  const std::unique_lock lock(mutex_);
  use(compiled_form(form));
}

Variant Database::remember(const std::string& key, const std::function<Variant()>& make) const {
  {
    const std::shared_lock lock(mutex_);
    if (const auto known = remembered_.find(key); known != remembered_.end()) return known->second;
  }
  const Variant made = make();
  const std::unique_lock lock(mutex_);
  return remembered_.try_emplace(key, made).first->second;
}

Diagnostic Database::remember_reason(const std::string& key, const std::function<Diagnostic()>& make) const {
  constexpr std::size_t kMost = 4096;  // the number of wrong opcodes is unlimited
  {
    const std::shared_lock lock(mutex_);
    if (const auto known = reasons_.find(key); known != reasons_.end()) return known->second;
  }
  Diagnostic made = make();
  const std::unique_lock lock(mutex_);
  if (reasons_.size() >= kMost) reasons_.clear();
  return reasons_.try_emplace(key, std::move(made)).first->second;
}

}  // namespace ptxloom::spec
