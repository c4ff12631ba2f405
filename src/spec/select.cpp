// SPDX-License-Identifier: Apache-2.0
#include "spec/select.hpp"

#include <algorithm>
#include <set>

namespace ptxloom::spec {
namespace {

constexpr std::size_t kListed = 6;  // variants that a message lists

/// One form with one list of choices.
class FormSelection {
 public:
  FormSelection(FormVariants& variants, std::span<const Choice> choices)
      : variants_(variants), form_(variants.form()), known_(form_.slots().size()), choices_(choices) {}

  std::vector<Variant> run() {
    std::vector<Variant> result;
    for (const Choice& choice : choices_) {
      if (!name(choice)) return result;
    }
    std::set<std::string> seen;
    for (const Joined& row : join(form_, known_)) {
      if (row.lax || !fits(row.values)) continue;
      const std::vector<bool> hidden = unnamed_defaults(row);
      if (!seen.insert(form_.opcode().render(row.values, hidden)).second) continue;
      for (const Variant& variant : variants_.of(row, hidden)) {
        if (!variant.undocumented() && has_chosen_values(*variant.data())) result.push_back(variant);
      }
    }
    return result;
  }

 private:
  /// False if the form does not know the name or value.
  bool name(const Choice& choice) {
    for (const Entry& entry : form_.data().select) {
      if (entry.key != choice.name) continue;
      SlotNames slots = form_.slots();
      maps_.emplace_back(Template::parse(entry.value, slots, form_.place()), choice.value);
      for (int slot : maps_.back().first.slots()) named_.insert(slot);
      return true;
    }
    const int slot = form_.slots().find(choice.name);
    if (slot < 0) return false;
    known_[static_cast<std::size_t>(slot)] = {.state = Known::State::value, .value = choice.value};
    named_.insert(slot);
    return true;
  }

  bool fits(Values values) const {
    return std::all_of(maps_.begin(), maps_.end(),
                       [&](const auto& map) { return map.first.render(values) == map.second; });
  }

  bool has_chosen_values(const VariantData& data) const {
    for (std::size_t slot = 0; slot < known_.size(); ++slot) {
      if (known_[slot].state == Known::State::value && data.values[slot] != known_[slot].value) return false;
    }
    return fits(data.values);
  }

  std::vector<bool> unnamed_defaults(const Joined& row) const {
    std::vector<bool> hidden(row.values.size());
    for (int slot : form_.opcode().slots()) {
      const auto at = static_cast<std::size_t>(slot);
      const bool may_hide = row.spellings[at] == Spelling::optional && !named_.contains(slot);
      hidden[at] = row.values[at] != kAbsent && (may_hide || row.spellings[at] == Spelling::implied);
    }
    return hidden;
  }

  FormVariants& variants_;
  const Form& form_;
  std::vector<Known> known_;
  std::vector<std::pair<Template, std::string_view>> maps_;
  std::set<int> named_;
  std::span<const Choice> choices_;
};

bool named(std::string_view slot, const Form& form, std::span<const Choice> choices) {
  const int index = form.slots().find(slot);
  for (const Choice& choice : choices) {
    if (choice.name == slot) return true;
    for (const Entry& entry : form.data().select) {
      if (entry.key != choice.name) continue;
      SlotNames slots = form.slots();
      const auto mapped = Template::parse(entry.value, slots, form.place()).slots();
      if (std::find(mapped.begin(), mapped.end(), index) != mapped.end()) return true;
    }
  }
  return false;
}

bool unwritten(Variant variant, std::string_view slot) {
  const Form& form = *variant.data()->form;
  const int index = form.slots().find(slot);
  const auto& shown = form.opcode().slots();
  return std::find(shown.begin(), shown.end(), index) == shown.end() || variant.data()->unwritten(index);
}

/// Among variants that differ in a slot that no choice names, keeps those that leave it unwritten, if there
/// are any.
void prefer_unwritten(std::vector<Variant>& variants, std::span<const Choice> choices) {
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const Form& form = *variants[i].data()->form;
    for (int slot : form.opcode().slots()) {
      const std::string_view name = form.slots().name(slot);
      if (named(name, form, choices)) continue;
      std::vector<Variant> without;
      std::copy_if(variants.begin(), variants.end(), std::back_inserter(without),
                   [&](Variant v) { return unwritten(v, name); });
      if (without.empty() || without.size() == variants.size()) continue;
      variants = std::move(without);
      return prefer_unwritten(variants, choices);
    }
  }
}

std::string list_of(std::span<const Variant> variants) {
  std::string list;
  for (std::size_t i = 0; i < std::min(variants.size(), kListed); ++i) {
    list += (i == 0 ? "" : ", ") + std::string(variants[i].opcode());
  }
  if (variants.size() > kListed) list += " and " + std::to_string(variants.size() - kListed) + " more";
  return list;
}

std::string words_of(std::string_view family, std::span<const Choice> choices) {
  std::string words(family);
  for (const Choice& choice : choices)
    words += " " + std::string(choice.name) + "=" + std::string(choice.value);
  return words;
}

/// The names that select within the forms, each with its possible values.
std::string choices_of(const Database& database, std::span<const FormData* const> forms,
                       std::span<const Choice> choices) {
  // A choice is at fault if omitting it gives a result: then list its alternatives.
  for (std::size_t left_out = 0; left_out < choices.size(); ++left_out) {
    std::vector<Choice> others(choices.begin(), choices.end());
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(left_out));
    std::set<std::string> values;
    for (const FormData* data : forms) {
      database.with(*data, [&](FormVariants& variants) {
        for (const Variant& variant : FormSelection(variants, others).run()) {
          std::string value(variant.slot(choices[left_out].name).value_or(""));
          for (const Entry& entry : data->select) {
            if (entry.key != choices[left_out].name) continue;
            SlotNames slots = variant.data()->form->slots();
            value = Template::parse(entry.value, slots, variant.data()->form->place())
                        .render(variant.data()->values);
          }
          if (!value.empty()) values.insert(std::move(value));
        }
      });
    }
    if (values.empty()) continue;
    std::string list;
    for (const std::string& value : values) list += " " + value;
    return "with the other choices, " + std::string(choices[left_out].name) + " can be:" + list;
  }
  std::set<std::string_view> names;
  for (const FormData* data : forms) {
    for (const Entry& entry : data->select) names.insert(entry.key);
    database.with(*data, [&](FormVariants& variants) {
      for (int slot : variants.form().opcode().slots()) names.insert(variants.form().slots().name(slot));
    });
  }
  std::string list;
  for (std::string_view name : names) list += " " + std::string(name);
  return "parameters that can be chosen here:" + list;
}

/// "PTX 8.4"; of a version newer than the default also the release of CUDA and the driver that it needs.
std::string version_needed(const Target& target, Version since) {
  const std::string version = "PTX " + to_string(since);
  return since > default_ptx_version() ? version + ": " + to_string(requirement_of(target, since)) : version;
}

}  // namespace

Selection select(const Database& database, std::string_view family, std::span<const Choice> choices,
                 const Target& target) {
  Selection selection;
  for (const FormData* form : database.family(family)) {
    database.with(*form, [&](FormVariants& variants) {
      for (const Variant& variant : FormSelection(variants, choices).run()) {
        (variant.since(target) ? selection.legal : selection.elsewhere).push_back(variant);
      }
    });
  }
  prefer_unwritten(selection.legal, choices);
  return selection;
}

std::string where_legal(Variant variant) {
  struct Where {
    Target target;
    Version since;
  };
  std::vector<Where> places;
  for (const TargetInfo* const info : variant.data()->form->vocabulary().targets())
    if (const std::optional<Version> since = variant.since(Target(*info)))
      places.push_back({Target(*info), *since});
  std::string text;
  for (const Where& place : places) {
    const bool follows = std::any_of(places.begin(), places.end(), [&](const Where& other) {
      return !(other.target == place.target) && other.since <= place.since &&
             place.target.satisfies(other.target.info());
    });
    if (follows) continue;
    text += (text.empty() ? "" : " or ") + std::string(place.target.name()) + " (" +
            version_needed(place.target, place.since) + ")";
  }
  return text.empty() ? "no known target" : text;
}

Diagnostic explain_selection(const Database& database, std::string_view family,
                             std::span<const Choice> choices, const Target& target,
                             const Selection& selection) {
  const std::string words = words_of(family, choices);
  const auto forms = database.family(family);
  if (forms.empty()) {
    return {.code = "unknown-form",
            .message = "there is no form or family '" + std::string(family) + "'",
            .hint = "`ptxloom list` shows them all"};
  }
  if (!selection.legal.empty()) {
    return {.code = "ambiguous-variant",
            .message = words + " leaves " + std::to_string(selection.legal.size()) +
                       " variants: " + list_of(selection.legal),
            .hint = "choose more parameters"};
  }
  if (!selection.elsewhere.empty()) {
    std::vector<Variant> nearest = selection.elsewhere;
    prefer_unwritten(nearest, choices);
    return {.code = "not-on-target",
            .message = words + ": " + std::string(nearest.front().opcode()) + " is not on " +
                       std::string(target.name()),
            .hint = "it is on " + where_legal(nearest.front())};
  }
  return {.code = "no-variant",
          .message = words + ": there is no such variant",
          .hint = choices_of(database, forms, choices)};
}

}  // namespace ptxloom::spec

namespace ptxloom {
namespace {

std::string key_of(std::string_view family, std::span<const Choice> choices, const Target& target) {
  std::string key(family);
  for (const Choice& choice : choices) {
    key += '\n';
    key += choice.name;
    key += '=';
    key += choice.value;
  }
  key += '\n';
  key += target.name();
  return key;
}

}  // namespace

Variant Specs::select(std::string_view family, std::span<const Choice> choices, const Target& target) const {
  const Variant selected = database_->remember(key_of(family, choices, target), [&] {
    const spec::Selection selection = spec::select(*database_, family, choices, target);
    if (selection.legal.size() == 1) return selection.legal.front();
    throw Error(ErrorKind::illegal_ptx,
                {spec::explain_selection(*database_, family, choices, target, selection)});
  });
  return Variant(selected.data(), database_);
}

Variant Specs::select(std::string_view family, std::initializer_list<Choice> choices,
                      const Target& target) const {
  return select(family, std::span(choices.begin(), choices.size()), target);
}

std::optional<Variant> Specs::find(std::string_view family, std::initializer_list<Choice> choices,
                                   const Target& target) const {
  const auto selection = spec::select(*database_, family, std::span(choices.begin(), choices.size()), target);
  if (selection.legal.size() != 1) return std::nullopt;
  return Variant(selection.legal.front().data(), database_);
}

}  // namespace ptxloom
