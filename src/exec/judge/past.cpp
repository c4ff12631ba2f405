// SPDX-License-Identifier: Apache-2.0
#include "exec/judge/past.hpp"

namespace ptxloom::exec {

void Knowledge::join(const Knowledge& other) {
  seen.join(other.seen);
  over.join(other.over);
  for (std::size_t i = 0; i < fenced.size(); ++i) fenced[i].join(other.fenced[i]);
  for (std::size_t i = 0; i < released.size(); ++i) released[i].join(other.released[i]);
}

void Knowledge::fence_proxy(const ProxyFence& fence, const Horizon& until, bool own) {
  if (fence.shared || (fence.own_shared && own)) fenced[kSharedSpace].join(until);
  if (fence.shared || (fence.own_shared && !own)) fenced[kRemoteSpace].join(until);
  if (fence.global) fenced[kGlobalSpace].join(until);
}

void Past::join(const Past& other) {
  if (parties.size() < other.parties.size()) parties.resize(other.parties.size());
  for (std::size_t i = 0; i < other.parties.size(); ++i) parties[i].join(other.parties[i]);
  GridOrder::join(others, other.others);
  for (std::size_t i = 0; i < kScopes; ++i) GridOrder::join(others_released[i], other.others_released[i]);
  GridOrder::join(others_fenced, other.others_fenced);
}

void Past::join_released(const Past& other, Scope scope) {
  const auto at = static_cast<std::size_t>(scope);
  if (parties.size() < other.parties.size()) parties.resize(other.parties.size());
  for (std::size_t i = 0; i < other.parties.size(); ++i) {
    Knowledge part = other.parties[i];
    part.seen = part.released[at];
    parties[i].join(part);
  }
  GridOrder::join(others, other.others_released[at]);
  for (std::size_t i = 0; i < kScopes; ++i) GridOrder::join(others_released[i], other.others_released[i]);
  GridOrder::join(others_fenced, other.others_fenced);
}

void Past::join_over(const Past& other) {
  if (parties.size() < other.parties.size()) parties.resize(other.parties.size());
  for (std::size_t i = 0; i < other.parties.size(); ++i) {
    parties[i].over.join(other.parties[i].seen);
    parties[i].over.join(other.parties[i].over);
  }
}

void Past::release(Scope scope, const Past& known) {
  for (std::size_t i = 0; i <= static_cast<std::size_t>(scope); ++i) {
    for (std::size_t party = 0; party < known.parties.size(); ++party)
      parties[party].released[i].join(known.parties[party].seen);
    GridOrder::join(others_released[i], known.others);
  }
}

void Past::fence_proxy(const ProxyFence& fence, const Past& known, std::size_t first, std::size_t count) {
  for (std::size_t i = 0; i < known.parties.size(); ++i)
    parties[i].fence_proxy(fence, known.parties[i].seen, i - first < count);
  if (fence.global) GridOrder::join(others_fenced, known.others);
}

}  // namespace ptxloom::exec
