// SPDX-License-Identifier: Apache-2.0
#include "exec/judge/past.hpp"

#include <algorithm>

namespace ptxloom::exec {

bool Knowledge::covers(const Knowledge& other) const {
  return seen.covers(other.seen) && over.covers(other.over) &&
         std::ranges::equal(fenced, other.fenced,
                            [](const Horizon& mine, const Horizon& theirs) { return mine.covers(theirs); });
}

void Knowledge::join(const Knowledge& other) {
  seen.join(other.seen);
  over.join(other.over);
  for (std::size_t i = 0; i < fenced.size(); ++i) fenced[i].join(other.fenced[i]);
}

void Knowledge::fence_proxy(const ProxyFence& fence, const Horizon& until, bool own) {
  if (fence.shared || (fence.own_shared && own)) fenced[kSharedSpace].join(until);
  if (fence.shared || (fence.own_shared && !own)) fenced[kRemoteSpace].join(until);
  if (fence.global) fenced[kGlobalSpace].join(until);
}

bool Past::covers(const Past& other) const {
  const auto has = [](const GridOrder::Known& mine, const GridOrder::Known& theirs) {
    return theirs == nullptr || theirs == mine;
  };
  if (!has(others, other.others) || !has(others_fenced, other.others_fenced)) return false;
  return parties.size() == other.parties.size() &&
         std::ranges::equal(parties, other.parties, [](const Knowledge& mine, const Knowledge& theirs) {
           return mine.covers(theirs);
         });
}

void Past::join(const Past& other) {
  if (parties.size() < other.parties.size()) parties.resize(other.parties.size());
  for (std::size_t i = 0; i < other.parties.size(); ++i) parties[i].join(other.parties[i]);
  GridOrder::join(others, other.others);
  GridOrder::join(others_fenced, other.others_fenced);
}

void Past::join_over(const Past& other) {
  if (parties.size() < other.parties.size()) parties.resize(other.parties.size());
  for (std::size_t i = 0; i < other.parties.size(); ++i) {
    Knowledge& known = parties[i];
    known.over.join(other.parties[i].seen);
    known.over.join(other.parties[i].over);
    for (std::size_t space = 0; space < known.fenced.size(); ++space)
      known.fenced[space].join(other.parties[i].fenced[space]);
  }
}

void Past::fence_proxy(const ProxyFence& fence, const Past& known, std::size_t first, std::size_t count) {
  for (std::size_t i = 0; i < known.parties.size(); ++i)
    parties[i].fence_proxy(fence, known.parties[i].seen, i - first < count);
  if (fence.global) GridOrder::join(others_fenced, known.others);
}

}  // namespace ptxloom::exec
