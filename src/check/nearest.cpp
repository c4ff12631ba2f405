// SPDX-License-Identifier: Apache-2.0
#include "check/nearest.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "ir/fit.hpp"

namespace ptxloom::check_rules {
namespace {

constexpr std::size_t kMostHints = 5;

std::vector<std::string_view> words_of(std::string_view opcode) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at <= opcode.size();) {
    const std::size_t dot = std::min(opcode.find('.', at), opcode.size());
    words.push_back(opcode.substr(at, dot - at));
    at = dot + 1;
  }
  return words;
}

// Words that one opcode has and the other has not.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::string_view> left = words_of(a), right = words_of(b), different;
  std::sort(left.begin(), left.end());
  std::sort(right.begin(), right.end());
  std::set_symmetric_difference(left.begin(), left.end(), right.begin(), right.end(),
                                std::back_inserter(different));
  return different.size();
}

bool takes(Variant variant, const ir::Kernel& kernel, std::span<const ir::Operand> operands) {
  return variant.operands().size() == operands.size() &&
         !ir::find_mismatch(kernel, variant.operands(), operands);
}

}  // namespace

std::string where_legal(Variant variant) {
  struct Place {
    const TargetInfo* target;
    Version since;
  };
  std::vector<Place> places;
  for (const TargetInfo& info : targets())
    if (const std::optional<Version> since = variant.since(Target(info))) places.push_back({&info, *since});
  std::string text;
  for (const Place& place : places) {
    const bool follows = std::any_of(places.begin(), places.end(), [&](const Place& other) {
      return other.target != place.target && other.since <= place.since &&
             Target(*place.target).satisfies(*other.target);
    });
    if (follows) continue;
    if (!text.empty()) text += " or ";
    text += std::string(place.target->name) + " (PTX " + to_string(place.since) + ")";
  }
  return text.empty() ? "no known target" : text;
}

std::string nearest_hint(const Specs& specs, Variant variant, const ir::Kernel& kernel,
                         std::span<const ir::Operand> operands, const Target& target) {
  std::vector<std::pair<std::size_t, std::string_view>> found;
  for (const Variant other : specs.variants(variant.form()))
    if (!other.undocumented() && takes(other, kernel, operands) && other.since(target))
      found.emplace_back(distance(variant.opcode(), other.opcode()), other.opcode());
  std::sort(found.begin(), found.end());
  std::string text;
  for (std::size_t i = 0; i < std::min(found.size(), kMostHints); ++i)
    text += (i == 0 ? "legal here: " : ", ") + std::string(found[i].second);
  return text;
}

std::string usage_of(Variant variant) {
  std::string text(variant.opcode());
  const std::span<const OperandSpec> places = variant.operands();
  for (std::size_t i = 0; i < places.size(); ++i)
    text += (i == 0 ? " " : ", ") + places[i].name + ": " + places[i].describe();
  return text;
}

}  // namespace ptxloom::check_rules
