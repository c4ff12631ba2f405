// SPDX-License-Identifier: Apache-2.0
#include "exec/judge/order.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace ptxloom::exec {

void Order::reset(std::size_t blocks, std::size_t warps, GridOrder* grid, std::uint64_t cluster) {
  now_ = 1;
  blocks_ = blocks;
  warps_ = warps;
  grid_ = grid;
  cluster_ = cluster;
  const std::size_t all = blocks * warps;
  copies_ = static_cast<Party>(all);
  known_.assign(all + 1, {.parties = std::vector<Knowledge>(all + 1)});
  some_.assign(all, {});
  groups_.assign(all, {});
  found_.assign(all, {});
  fences_ = false;
  exited_ = {};
  lanes_synced_.assign(all, 0);
  met_all_.assign(all, false);
  places_.clear();
  words_.clear();
}

Horizon Order::own(const Who& who) {
  if (who.party >= lanes_synced_.size() || who.whole()) return {.all = tick()};
  return {.all = lanes_synced_[who.party], .some = tick(), .lanes = who.lanes};
}

template <class F>
void Order::for_known(const Who& who, F f) {
  f(known_[who.party]);
  if (who.party >= some_.size()) return;
  if ((some_[who.party].lanes & who.lanes) != 0) f(some_[who.party].past);
  for (Some& group : groups_[who.party])
    if ((group.lanes & who.lanes) != 0) f(group.past);
}

void Order::publish(const Who& who, Past& at) {
  const Horizon mine = own(who);
  for_known(who, [&](const Past& past) { at.join(past); });
  at.parties[who.party].seen.join(mine);
}

void Order::publish_released(const Who& who, Past& at, Scope scope) {
  tick();
  for_known(who, [&](const Past& past) { at.join_released(past, scope); });
}

void Order::publish_over(const Who& who, Past& at) {
  const Horizon mine = own(who);
  for_known(who, [&](const Past& past) { at.join_over(past); });
  at.parties[who.party].over.join(mine);
}

void Order::learn(const Who& who, const Past& past) {
  if (who.party >= some_.size() || who.whole()) return known_[who.party].join(past);
  Some& some = some_[who.party];
  if (some.lanes == 0) some.past = {.parties = std::vector<Knowledge>(known_.size())};
  some.lanes |= who.lanes;
  some.past.join(past);
  if ((who.live & ~some.lanes) != 0) return;
  known_[who.party].join(some.past);
  some.lanes = 0;
}

void Order::arrive(const Who& who, const void* place) { publish(who, places_[place].gathered); }

void Order::arrive_relaxed(const Who& who, const void* place, Scope scope) {
  Past& gathered = places_[place].gathered;
  publish_released(who, gathered, scope);
  publish_over(who, gathered);
}

void Order::open(const void* place) {
  Place& opened = places_[place];
  opened.opened.join(opened.gathered);
}

void Order::open_with_exited(const void* place) {
  places_[place].gathered.join(exited_);
  open(place);
}

void Order::pass(const Who& who, const void* place, bool relaxed) {
  const auto found = places_.find(place);
  if (found != places_.end()) find(who, found->second.opened, relaxed, Scope::cta);
}

bool Order::knows_opening(const Who& who, const void* place) const {
  const auto found = places_.find(place);
  if (found == places_.end()) return true;
  const auto lane = static_cast<std::uint8_t>(std::countr_zero(who.lanes));
  const std::vector<Knowledge>& opened = found->second.opened.parties;
  for (std::size_t i = 0; i < opened.size(); ++i) {
    const Horizon& horizon = opened[i].seen;
    const Time time = std::max(horizon.all, horizon.some);
    if (time != 0 && i != who.party && !knows(who.party, lane, static_cast<Party>(i), kSeveralLanes, time))
      return false;
  }
  return true;
}

void Order::exit(const Who& who) { publish(who, exited_); }

void Order::store(const Who& who, const void* word) {
  if (const auto at = words_.find(word); at != words_.end() && !at->second.by.contains(who.party))
    words_.erase(at);
  if (grid_ != nullptr) grid_->store(word, cluster_, who.party);
}

void Order::release(const Who& who, const void* word, bool relaxed, Scope scope) {
  if (relaxed && !fences_) return;
  Past published;
  if (!relaxed) publish(who, published);
  const auto for_scope = [&](Scope reader) -> const Past& {
    if (!relaxed) return published;
    published = {};
    publish_released(who, published, reader);
    return published;
  };
  Word& at = words_[word];
  at.by.insert(who.party);
  at.by_block.resize(blocks_);
  at.by_block[who.party / warps_].join(for_scope(Scope::cta));
  if (blocks_ > 1 && scope >= Scope::cluster) at.cluster.join(for_scope(Scope::cluster));
  if (grid_ != nullptr && scope == Scope::gpu) publish_beyond(who.party, word, for_scope(Scope::gpu));
}

void Order::publish_beyond(Party by, const void* word, const Past& published) {
  GridOrder::Horizons seen, fenced;
  bool any_fenced = false;
  for (const Knowledge& each : published.parties) {
    seen.push_back(each.seen);
    fenced.push_back(each.fenced[kGlobalSpace]);
    any_fenced |= fenced.back() != Horizon();
  }
  GridOrder::Word more{.seen = published.others, .fenced = published.others_fenced};
  GridOrder::join(more.seen, grid_->of(cluster_, std::move(seen)));
  if (any_fenced) GridOrder::join(more.fenced, grid_->of(cluster_, std::move(fenced)));
  grid_->publish(word, cluster_, by, more);
}

void Order::find(const Who& who, const Past& past, bool relaxed, Scope scope) {
  if (!relaxed) return learn(who, past);
  Found& found = found_[who.party];
  found.by_scope[static_cast<std::size_t>(scope)].join(past);
  found.lanes |= who.lanes;
}

void Order::acquire(const Who& who, const void* word, bool relaxed, Scope scope) {
  if (const auto at = words_.find(word); at != words_.end()) {
    find(who, at->second.by_block[who.party / warps_], relaxed, Scope::cta);
    if (blocks_ > 1 && scope >= Scope::cluster) find(who, at->second.cluster, relaxed, Scope::cluster);
  }
  if (grid_ == nullptr || scope != Scope::gpu) return;
  if (const GridOrder::Word* known = grid_->at(word))
    find(who, {.parties = {}, .others = known->seen, .others_released = {}, .others_fenced = known->fenced},
         relaxed, Scope::gpu);
}

void Order::fence(const Who& who, Scope scope) {
  fences_ = true;
  Found& found = found_[who.party];
  if ((found.lanes & who.lanes) != 0) {
    for (std::size_t i = 0; i <= static_cast<std::size_t>(scope); ++i) {
      learn(who, found.by_scope[i]);
      if ((found.lanes & ~who.lanes) == 0) found.by_scope[i] = {};
    }
    if (scope == Scope::gpu) found.lanes &= ~who.lanes;
  }
  const Horizon mine = own(who);
  for_known(who, [&](Past& past) { past.release(scope); });
  for (std::size_t i = 0; i <= static_cast<std::size_t>(scope); ++i)
    known_[who.party].parties[who.party].released[i].join(mine);
}

void Order::fence_proxy(const Who& who, const ProxyFence& fence) {
  Horizon mine = own(who);
  mine.join({.all = known_[who.party].parties[who.party].over.all});
  const std::size_t first = who.party / warps_ * warps_;
  for_known(who, [&](Past& past) { past.fence_proxy(fence, first, warps_); });
  known_[who.party].parties[who.party].fence_proxy(fence, mine, true);
}

void Order::sync_lanes(const Who& who) {
  if (!who.whole()) return sync_some(who);
  lanes_synced_[who.party] = tick();
  Past& known = known_[who.party];
  Some& some = some_[who.party];
  if (some.lanes != 0) known.join(some.past);
  some.lanes = 0;
  for (const Some& group : groups_[who.party]) known.join(group.past);
  groups_[who.party].clear();
}

// What lanes of earlier groups knew, the new one knows.
void Order::sync_some(const Who& who) {
  Some met{.past = {.parties = std::vector<Knowledge>(known_.size())}, .lanes = who.lanes};
  publish(who, met.past);
  std::vector<Some>& groups = groups_[who.party];
  for (Some& group : groups) group.lanes &= ~who.lanes;
  std::erase_if(groups, [](const Some& group) { return group.lanes == 0; });
  groups.push_back(std::move(met));
}

template <class F>
bool Order::any_beyond(Party party, std::uint8_t lane, F holds) const {
  if (party >= some_.size()) return false;
  const auto is_known = [&](const Some& some) {
    const bool is_one = some.lanes != 0 && (lane == kSeveralLanes || (some.lanes >> lane & 1) != 0);
    return is_one && holds(some.past);
  };
  return is_known(some_[party]) || std::ranges::any_of(groups_[party], is_known);
}

bool Order::knows_more(Party party, std::uint8_t lane, Party other, std::uint8_t other_lane,
                       Time time) const {
  if (party == other && party < lanes_synced_.size() && time <= lanes_synced_[party]) return true;
  return any_beyond(party, lane,
                    [&](const Past& past) { return past.parties[other].seen.covers(time, other_lane); });
}

bool Order::knows_over(Party party, std::uint8_t lane, Party other, std::uint8_t other_lane,
                       Time time) const {
  if (known_[party].parties[other].over.covers(time, other_lane)) return true;
  return any_beyond(party, lane,
                    [&](const Past& past) { return past.parties[other].over.covers(time, other_lane); });
}

bool Order::knows_any(Party party, std::uint8_t lane, Party first, std::size_t count) const {
  if (met_all_[party]) return true;
  for (std::size_t i = 0; i < count; ++i)
    if (knows(party, lane, static_cast<Party>(first + i), kSeveralLanes, 1)) return true;
  return false;
}

bool Order::fenced(FencedSpace space, Party party, std::uint8_t lane, Party other, std::uint8_t other_lane,
                   Time time) const {
  if (known_[party].parties[other].fenced[space].covers(time, other_lane)) return true;
  return any_beyond(party, lane, [&](const Past& past) {
    return past.parties[other].fenced[space].covers(time, other_lane);
  });
}

bool Order::knows_other(Party party, std::uint8_t lane, std::uint64_t cluster, Party other,
                        std::uint8_t other_lane, Time time) const {
  if (grid_ == nullptr) return false;
  if (grid_->covers(known_[party].others, cluster, other, other_lane, time)) return true;
  return any_beyond(party, lane, [&](const Past& past) {
    return grid_->covers(past.others, cluster, other, other_lane, time);
  });
}

bool Order::fenced_other(Party party, std::uint8_t lane, std::uint64_t cluster, Party other,
                         std::uint8_t other_lane, Time time) const {
  if (grid_ == nullptr) return false;
  if (grid_->covers(known_[party].others_fenced, cluster, other, other_lane, time)) return true;
  return any_beyond(party, lane, [&](const Past& past) {
    return grid_->covers(past.others_fenced, cluster, other, other_lane, time);
  });
}

}  // namespace ptxloom::exec
