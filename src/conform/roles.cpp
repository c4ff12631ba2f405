// SPDX-License-Identifier: Apache-2.0
#include "conform/roles.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>

namespace ptxloom::conform_kernels {
namespace {

constexpr std::string_view kMemory = "memory";

}  // namespace

Roles::Roles(const Subject& subject) : subject_(&subject) {
  read(Role::left, "left");
  read(Role::right, "right");
  read(Role::addend, "addend");
  read(Role::scale, "scale");
  std::ranges::stable_sort(places_, {}, &Place::from);
}

void Roles::read(Role role, std::string_view key) {
  std::istringstream words(subject_->variant.conform(key));
  for (std::string word; words >> word;) {
    const bool in_memory = word.starts_with(kMemory);
    if (const auto type = find_type(word); type && !places_.empty() && !in_memory) {
      places_.back().type = *type;  // "memory+4096 f32"
    } else {
      add(role, word, in_memory);
    }
  }
}

void Roles::add(Role role, const std::string& word, bool in_memory) {
  if (in_memory && std::ranges::find(places_, role, &Place::role) != places_.end()) return;
  Place place{.role = role, .operand = in_memory ? "" : word, .from = 0, .type = b32};
  if (in_memory) {
    const char* const offset = word.data() + std::min(word.size(), kMemory.size() + 1);
    std::from_chars(offset, word.data() + word.size(), place.from);
    if (const auto type = find_type(subject_->variant.conform(kMemory))) place.type = *type;
    places_.push_back(place);
    return;
  }
  const Variant& variant = subject_->variant;
  // A descriptor only locates the factor, and an operand that this variant lacks says nothing.
  if (variant.operand_index(word) < 0 || variant.conform(word) == "descriptor") return;
  for (const Record* record : {&subject_->in, &subject_->inside}) {
    for (const Field& field : record->fields) {
      const OperandSpec& operand = variant.operands()[static_cast<std::size_t>(field.operand)];
      if (operand.name == word) place.type = element_type(*subject_, field);
    }
  }
  places_.push_back(place);
}

Role Roles::of(std::string_view operand) const {
  const auto found = std::ranges::find(places_, operand, &Place::operand);
  return operand.empty() || found == places_.end() ? Role::none : found->role;
}

bool Roles::shared() const {
  return std::ranges::count_if(
             places_, [](const Place& place) { return place.operand.empty() && place.from == 0; }) > 1;
}

std::vector<Roles::Region> Roles::regions() const {
  std::vector<Region> regions;
  for (const Place& place : places_) {
    const bool known = !regions.empty() && regions.back().from == place.from;
    if (place.operand.empty() && !known)
      regions.push_back({.from = place.from, .role = place.role, .type = place.type});
  }
  return regions;
}

Type Roles::type_of(Role role) const {
  const auto found = std::ranges::find(places_, role, &Place::role);
  return found == places_.end() ? b32 : found->type;
}

bool Roles::scaled() const { return std::ranges::find(places_, Role::scale, &Place::role) != places_.end(); }

}  // namespace ptxloom::conform_kernels
