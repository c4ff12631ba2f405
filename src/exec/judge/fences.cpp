// SPDX-License-Identifier: Apache-2.0
#include "exec/judge/fences.hpp"

#include <algorithm>

namespace ptxloom::exec {

Past& ScFences::part(Scope distance, Scope scope) {
  for (Part& each : parts_)
    if (each.distance == distance && each.scope == scope) return each.past;
  parts_.push_back({.distance = distance, .scope = scope, .past = {}});
  return parts_.back().past;
}

void ScFences::join(const ScFences& other) {
  for (const Part& each : other.parts_) part(each.distance, each.scope).join(each.past);
}

ScFences ScFences::beyond_block() const {
  ScFences beyond;
  for (const Part& each : parts_)
    if (each.scope >= Scope::cluster)
      beyond.part(std::max(each.distance, Scope::cluster), each.scope).join(each.past);
  return beyond;
}

Past ScFences::beyond_cluster() const {
  Past beyond;
  for (const Part& each : parts_)
    if (each.scope == Scope::gpu) beyond.join(each.past);
  return beyond;
}

}  // namespace ptxloom::exec
