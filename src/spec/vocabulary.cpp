// SPDX-License-Identifier: Apache-2.0
#include "spec/vocabulary.hpp"

namespace ptxloom::spec {
namespace {

constexpr int kTypeOrder = 0;  // types are ordered among themselves, then come the ordered classes

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
    classes_.push_back(group);
    if (!group.ordered) continue;
    for (std::string_view word : group.words) order_[word] = static_cast<int>(classes_.size());
  }
}

void Vocabulary::add(std::span<const TargetInfo> targets) {
  for (const TargetInfo& info : targets) targets_[info.name] = &info;
}

const TypeData* Vocabulary::type(std::string_view name) const { return find_in(types_, name); }

const TargetInfo* Vocabulary::target(std::string_view name) const { return find_in(targets_, name); }

int Vocabulary::order_class(std::string_view word) const {
  const auto found = order_.find(word);
  return found == order_.end() ? -1 : found->second;
}

}  // namespace ptxloom::spec
