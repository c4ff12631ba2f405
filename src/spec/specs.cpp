// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/specs.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "spec/database.hpp"
#include "spec/surroundings.hpp"
#include "spec/variant.hpp"

namespace ptxloom {
namespace {

std::string known_operands(const Variant& variant) {
  std::string names;
  for (const OperandSpec& operand : variant.operands()) names += (names.empty() ? "" : " ") + operand.name;
  for (const spec::Entry& alias : variant.data()->form->data().alias) names += " " + std::string(alias.key);
  return names;
}

std::vector<Variant> kept(std::span<const Variant> variants,
                          const std::shared_ptr<const spec::Database>& owner) {
  std::vector<Variant> result;
  result.reserve(variants.size());
  for (const Variant& variant : variants) result.emplace_back(variant.data(), owner);
  return result;
}

[[noreturn]] void unknown_form(std::string_view name) {
  throw Error(ErrorKind::usage, "unknown-form", "there is no form or family '" + std::string(name) + "'",
              "`ptxloom list` shows them all");
}

// Built-in targets need no owner, and many threads copy them.
Target kept(const TargetInfo& info, const std::shared_ptr<const spec::Database>& owner) {
  const bool compiled_in =
      std::ranges::any_of(ptxloom::targets(), [&](const TargetInfo& own) { return &own == &info; });
  return compiled_in ? Target(info) : Target(info, owner);
}

}  // namespace

std::string OperandSpec::describe() const {
  switch (kind) {
    case Kind::address:
      return space.empty() ? "address" : "address in " + space;
    case Kind::symbol:
      return "name of a variable or function";
    case Kind::label:
      return text.empty() ? "label" : "label of .branchtargets";
    case Kind::literal:
      return text;
    case Kind::value:
      break;
  }
  const auto number = [](std::int64_t n) { return std::to_string(n); };
  std::string values;
  for (std::int64_t choice : choices) values += (values.empty() ? "" : "|") + number(choice);
  if (range) {
    const bool open =
        range->second == std::numeric_limits<std::int64_t>::max() || range->second < range->first;
    values = number(range->first) + ".." + (open ? "" : number(range->second));
    if (step != 1) values += "/" + number(step);
  }
  if (!registers_allowed) return values.empty() ? "_" : values;
  std::string result = count == 0 ? std::string(type.name) : number(count) + " x " + std::string(type.name);
  if (!values.empty()) result += " or " + values;
  if (!text.empty()) result += ", whole or ." + text;
  return result;
}

std::string_view Variant::form() const { return data_->form->data().name; }

std::string_view Variant::mode() const { return data_->form->data().mode; }

std::string_view Variant::opcode() const { return data_->opcode; }

std::span<const OperandSpec> Variant::operands() const { return data_->operands->get().specs; }

std::span<const OperandPiece> Variant::pieces() const { return data_->operands->get().pieces; }

int Variant::operand_index(std::string_view name) const {
  const auto find = [&](std::string_view wanted) {
    const auto all = operands();
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const OperandSpec& o) { return o.name == wanted; });
    return found == all.end() ? -1 : static_cast<int>(found - all.begin());
  };
  const int index = find(name);
  if (index >= 0) return index;
  for (const spec::Entry& alias : data_->form->data().alias) {
    if (alias.key == name) return find(alias.value);
  }
  return -1;
}

const OperandSpec& Variant::operand(std::string_view name) const {
  const int index = operand_index(name);
  if (index >= 0) return operands()[static_cast<std::size_t>(index)];
  throw Error(ErrorKind::usage, "unknown-operand",
              std::string(opcode()) + " has no operand '" + std::string(name) + "'",
              "its operands: " + known_operands(*this));
}

std::optional<std::string_view> Variant::slot(std::string_view name) const {
  const int index = data_->form->slots().find(name);
  if (index < 0 || data_->value(index) == spec::kAbsent) return std::nullopt;
  return data_->value(index);
}

int Variant::slot_int(std::string_view name) const {
  const std::string_view text = slot(name).value_or("");
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (!text.empty() && error == std::errc{} && end == text.data() + text.size()) return value;
  throw Error(ErrorKind::usage, "not-a-number",
              "slot '" + std::string(name) + "' of " + std::string(opcode()) + " is " +
                  (text.empty() ? "absent" : "'" + std::string(text) + "'") + ", not a number");
}

std::optional<Version> Variant::since(const Target& target) const {
  std::optional<Version> lowest;
  for (const spec::Needs& needs : data_->needs) {
    const auto version = spec::lowest_version(needs, target);
    if (version && (!lowest || *version < *lowest)) lowest = version;
  }
  return lowest;
}

bool Variant::allowed(const Target& target, Version version) const {
  return std::any_of(data_->needs.begin(), data_->needs.end(),
                     [&](const spec::Needs& needs) { return spec::allowed(needs, target, version); });
}

bool Variant::undocumented() const { return data_->lax; }

Variant::FragmentMap Variant::fragment(std::string_view operand) const {
  const int index = operand_index(operand);
  if (index < 0) this->operand(operand);  // throws
  const std::string_view name = operands()[static_cast<std::size_t>(index)].name;
  for (const spec::FragmentTemplate& map : data_->form->fragments()) {
    if (map.is_of(name)) return map.fill(data_->values);
  }
  return {};
}

std::string Variant::conform(std::string_view what) const {
  return spec::conform_text(*data_->form, data_->values, what);
}

Specs::Specs(std::span<const std::filesystem::path> overlays, std::optional<Version> assembler)
    : database_(std::make_shared<const spec::Database>(spec::compiled_specs(), overlays, assembler)) {
  for (const std::filesystem::path& folder : overlays) overlays_.push_back(std::filesystem::absolute(folder));
}

Specs::~Specs() = default;

Target Specs::target(std::string_view name) const {
  const TargetInfo* const info = database_->vocabulary().target(name);
  return info == nullptr ? Target(name) : kept(*info, database_);
}

std::vector<Target> Specs::targets() const {
  std::vector<Target> all;
  for (const TargetInfo* const info : database_->vocabulary().targets())
    all.push_back(kept(*info, database_));
  return all;
}

std::vector<Variant> Specs::match(std::string_view opcode) const {
  return kept(database_->match(opcode), database_);
}

std::vector<Variant> Specs::match_form(std::string_view opcode, std::size_t nth) const {
  return kept(database_->match_form(opcode, nth), database_);
}

std::vector<std::string_view> Specs::forms() const {
  std::vector<std::string_view> names;
  for (const spec::FormData* form : database_->forms()) names.push_back(form->name);
  return names;
}

std::vector<Variant> Specs::variants(std::string_view form) const {
  const spec::FormData* const data = database_->find_form(form);
  if (data == nullptr) unknown_form(form);
  return kept(database_->variants(*data), database_);
}

Specs::FormInfo Specs::info(std::string_view form) const {
  const spec::FormData* const data = database_->find_form(form);
  if (data == nullptr) unknown_form(form);
  return {.name = data->name,
          .family = data->family,
          .text = data->text,
          .doc = data->doc,
          .undocumented = data->undocumented};
}

}  // namespace ptxloom
