// SPDX-License-Identifier: Apache-2.0
#include "spec/vocabulary.hpp"

#include <algorithm>

#include "spec/cell.hpp"
#include "spec/spec_error.hpp"

namespace ptxloom::spec {
namespace {

constexpr int kTypeOrder = 0;  // types form one order; the ordered classes follow

template <class Map>
auto find_in(const Map& map, std::string_view name) {
  const auto found = map.find(name);
  return found == map.end() ? typename Map::mapped_type{} : found->second;
}

}  // namespace

void Vocabulary::add(std::span<const TypeData> types) {
  for (const TypeData& data : types) {
    types_[data.type.name] = &data;
    order_[data.type.name] = kTypeOrder;
  }
}

void Vocabulary::add(std::span<const WordClass> classes) {
  for (const WordClass& group : classes) {
    if (group.name == "twice") {
      repeatable_.insert(group.words.begin(), group.words.end());
      continue;
    }
    classes_.push_back(group);
    if (!group.ordered) continue;
    if (++last_order_ == kMaxOrders) fail("spec-words", {}, "too many classes of words are ordered");
    for (std::string_view word : group.words) order_[word] = last_order_;
  }
}

void Vocabulary::add(std::span<const TargetInfo> targets) {
  for (const TargetInfo& info : targets) {
    const auto [known, added] = targets_.try_emplace(info.name, &info);
    if (added) {
      target_list_.push_back(&info);
    } else {
      std::replace(target_list_.begin(), target_list_.end(), known->second, &info);
      known->second = &info;
    }
  }
}

void Vocabulary::add(std::span<const Surrounding> surroundings) {
  for (const Surrounding& each : surroundings) surroundings_[each.name] = &each;
}

const Surrounding* Vocabulary::surrounding(std::string_view name) const {
  return find_in(surroundings_, name);
}

const TypeData* Vocabulary::type(std::string_view name) const { return find_in(types_, name); }

std::vector<Type> Vocabulary::types() const {
  std::vector<Type> all;
  for (const auto& [name, data] : types_) all.push_back(data->type);
  return all;
}

const TargetInfo* Vocabulary::target(std::string_view name) const { return find_in(targets_, name); }

int Vocabulary::order_class(std::string_view word) const {
  const auto found = order_.find(word);
  return found == order_.end() ? -1 : found->second;
}

std::string Vocabulary::without_repeats(std::string_view opcode) const {
  std::string once;
  std::unordered_set<std::string_view> seen;
  for (std::string_view word : split(opcode, '.')) {
    if (repeatable_.contains(word) && !seen.insert(word).second) continue;
    if (!once.empty()) once += '.';
    once += word;
  }
  return once;
}

}  // namespace ptxloom::spec
