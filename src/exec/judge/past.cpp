// SPDX-License-Identifier: Apache-2.0
#include "exec/judge/past.hpp"

namespace ptxloom::exec {

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

void Past::join(const Past& other) {
  if (parties.size() < other.parties.size()) parties.resize(other.parties.size());
  for (std::size_t i = 0; i < other.parties.size(); ++i) parties[i].join(other.parties[i]);
  GridOrder::join(others, other.others);
  GridOrder::join(others_fenced, other.others_fenced);
}

void Past::join_over(const Past& other) {
  if (parties.size() < other.parties.size()) parties.resize(other.parties.size());
  for (std::size_t i = 0; i < other.parties.size(); ++i) {
    parties[i].over.join(other.parties[i].seen);
    parties[i].over.join(other.parties[i].over);
  }
}

void Past::fence_proxy(const ProxyFence& fence, const Past& known, std::size_t first, std::size_t count) {
  for (std::size_t i = 0; i < known.parties.size(); ++i)
    parties[i].fence_proxy(fence, known.parties[i].seen, i - first < count);
  if (fence.global) GridOrder::join(others_fenced, known.others);
}

}  // namespace ptxloom::exec
