// SPDX-License-Identifier: Apache-2.0
#include "exec/judge/fences.hpp"

#include <algorithm>

namespace ptxloom::exec {

void ScFences::join(Scope distance, Scope scope, const std::shared_ptr<Past>& past) {
  const auto known = std::ranges::find_if(
      parts_, [&](const Part& each) { return each.distance == distance && each.scope == scope; });
  if (known == parts_.end()) {
    parts_.push_back({.distance = distance, .scope = scope, .past = past});
  } else if (past->covers(*known->past)) {
    known->past = past;
  } else if (!known->past->covers(*past)) {
    if (known->past.use_count() > 1) known->past = std::make_shared<Past>(*known->past);
    known->past->join(*past);
  }
}

void ScFences::join(const ScFences& other) {
  for (const Part& each : other.parts_) join(each.distance, each.scope, each.past);
}

ScFences ScFences::beyond_block() const {
  ScFences beyond;
  for (const Part& each : parts_)
    if (each.scope >= Scope::cluster)
      beyond.join(std::max(each.distance, Scope::cluster), each.scope, each.past);
  return beyond;
}

Past ScFences::beyond_cluster() const {
  Past beyond;
  for (const Part& each : parts_)
    if (each.scope == Scope::gpu) beyond.join(*each.past);
  return beyond;
}

}  // namespace ptxloom::exec
