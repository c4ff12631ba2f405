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
  groups_.assign(all, {});
  found_.assign(all, {});
  passed_on_.assign(all, {});
  found_released_.assign(all, {});
  any_found_ = false;
  fences_ = false;
  exited_ = {};
  found_exited_ = {};
  lanes_synced_.assign(all, 0);
  converged_.assign(all, 0);
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
  if (who.party < groups_.size()) groups_[who.party].for_each(who.lanes, f);
}

template <class F>
void Order::change_known(const Who& who, F f) {
  f(known_[who.party]);
  if (who.party < groups_.size()) groups_[who.party].change(who.lanes, f);
}

void Order::publish(const Who& who, Past& at) {
  const Horizon mine = own(who);
  for_known(who, [&](const Past& past) { at.join(past); });
  at.parties[who.party].seen.join(mine);
}

// A fence of several lanes releases what each of them did, and not what its neighbours did.
void Order::publish_released(const Who& who, Past& at, Scope scope) {
  tick();
  Past released;
  for_known(who, [&](const Past& past) { released.join_released(past, scope); });
  if (who.party < lanes_synced_.size() && !who.whole() && !released.parties.empty()) {
    Horizon& own = released.parties[who.party].seen;
    const Time synced = std::max(lanes_synced_[who.party], known_[who.party].parties[who.party].seen.all);
    if (own.all > synced)
      own = {.all = synced, .some = std::max(own.all, own.some), .lanes = who.lanes | own.lanes};
  }
  at.join(released);
}

void Order::publish_over(const Who& who, Past& at) {
  const Horizon mine = own(who);
  for_known(who, [&](const Past& past) { at.join_over(past); });
  at.parties[who.party].over.join(mine);
}

void Order::learn(const Who& who, const Past& past, const LaneKey& key) {
  if (who.party >= groups_.size() || who.whole()) return known_[who.party].join(past);
  LaneGroups<Past>& groups = groups_[who.party];
  groups.add(who.lanes, key, [&](Past& known) {
    known.parties.resize(known_.size());
    known.join(past);
  });
  groups.take_whole(who.live, [&](const Past& known) { known_[who.party].join(known); });
}

void Order::arrive(const Who& who, const void* place) {
  Place& at = places_[place];
  publish(who, at.gathered);
  if (any_found_) pass_on(who, at.found_gathered);
}

void Order::arrive_relaxed(const Who& who, const void* place, Scope scope) {
  Place& at = places_[place];
  publish_released(who, at.gathered, scope);
  publish_over(who, at.gathered);
  if (any_found_) join_found(at.found_gathered, found_before(who, true));
}

void Order::open(const void* place) {
  Place& opened = places_[place];
  opened.opened.join(opened.gathered);
  if (any_found_) join_found(opened.found_opened, opened.found_gathered);
  opened.version = ++last_version_;
}

void Order::open_with_exited(const void* place) {
  Place& at = places_[place];
  at.gathered.join(exited_);
  if (any_found_) join_found(at.found_gathered, found_exited_);
  open(place);
}

void Order::pass(const Who& who, const void* place, Passing passing) {
  const auto found = places_.find(place);
  if (found == places_.end()) return;
  const Past& opened = found->second.opened;
  if (any_found_ && who.party < passed_on_.size())
    join_found(passed_on_[who.party], found->second.found_opened);
  LaneKey key{.place = place, .version = found->second.version};
  if (!passing.for_cta || blocks_ == 1) return find(who, opened, key, passing.relaxed, Scope::cta);
  key.part = 1;
  find(who, within_block(who.party, opened), key, passing.relaxed, Scope::cta);
}

Past Order::within_block(Party party, const Past& past) const {
  Past within = past;
  for (std::size_t i = 0; i < within.parties.size(); ++i) {
    if (i == copies_ || i / warps_ == party / warps_) continue;
    Knowledge& other = within.parties[i];
    other.over.join(other.seen);
    other = {.seen = {}, .over = other.over, .fenced = {}, .released = {}};
  }
  return within;
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

void Order::exit(const Who& who) {
  publish(who, exited_);
  if (any_found_) pass_on(who, found_exited_);
}

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
  const Found found = any_found_ ? found_before(who, relaxed) : Found{};
  const auto add = [&](Published& to, Scope reader) {
    to.past.join(for_scope(reader));
    if (!any_found_) return;
    if (to.found == nullptr) to.found = std::make_unique<Found>();
    join_found(*to.found, found);
  };
  Word& at = words_[word];
  at.by.insert(who.party);
  at.version = ++last_version_;
  at.by_block.resize(blocks_);
  add(at.by_block[who.party / warps_], Scope::cta);
  if (blocks_ > 1 && scope >= Scope::cluster) add(at.cluster, Scope::cluster);
  if (grid_ != nullptr && scope == Scope::gpu) publish_beyond(who.party, word, for_scope(Scope::gpu), found);
}

Order::Found Order::found_before(const Who& who, bool relaxed) const {
  if (relaxed) return who.party < found_released_.size() ? found_released_[who.party] : Found{};
  Found found;
  pass_on(who, found);
  return found;
}

GridOrder::Shared Order::beyond(const Past& published) const {
  GridOrder::Horizons seen, fenced;
  bool any_fenced = false;
  for (const Knowledge& each : published.parties) {
    seen.push_back(each.seen);
    fenced.push_back(each.fenced[kGlobalSpace]);
    any_fenced |= fenced.back() != Horizon();
  }
  GridOrder::Shared shared{.seen = published.others, .fenced = published.others_fenced};
  if (!seen.empty()) GridOrder::join(shared.seen, grid_->of(cluster_, std::move(seen)));
  if (any_fenced) GridOrder::join(shared.fenced, grid_->of(cluster_, std::move(fenced)));
  return shared;
}

void Order::publish_beyond(Party by, const void* word, const Past& published, const Found& found) {
  GridOrder::Word more{.known = beyond(published)};
  if (any_found_)
    for (std::size_t i = 0; i < kScopes; ++i) more.found[i] = beyond(found[i]);
  grid_->publish(word, cluster_, by, more);
}

void Order::find(const Who& who, const Past& past, const LaneKey& key, bool relaxed, Scope scope) {
  if (!relaxed) return learn(who, past, key);
  any_found_ = true;
  found_[who.party].add(who.lanes, key,
                        [&](Found& found) { found[static_cast<std::size_t>(scope)].join(past); });
}

void Order::acquire(const Who& who, const void* word, bool relaxed, Scope scope) {
  const auto key = [&](std::uint8_t part, std::uint64_t version) {
    return LaneKey{.place = word, .version = version, .part = part};
  };
  if (const auto at = words_.find(word); at != words_.end()) {
    const Word& known = at->second;
    take(who, known.by_block[who.party / warps_], key(0, known.version), relaxed, Scope::cta);
    if (blocks_ > 1 && scope >= Scope::cluster)
      take(who, known.cluster, key(1, known.version), relaxed, Scope::cluster);
  }
  if (grid_ == nullptr || scope != Scope::gpu) return;
  if (const GridOrder::Word* known = grid_->at(word))
    take_beyond(who, *known, key(2, known->version), relaxed);
}

void Order::take(const Who& who, const Published& published, const LaneKey& key, bool relaxed, Scope scope) {
  find(who, published.past, key, relaxed, scope);
  if (published.found != nullptr && who.party < passed_on_.size())
    join_found(passed_on_[who.party], *published.found);
}

void Order::take_beyond(const Who& who, const GridOrder::Word& word, const LaneKey& key, bool relaxed) {
  const auto past_of = [](const GridOrder::Shared& shared) {
    return Past{.parties = {}, .others = shared.seen, .others_released = {}, .others_fenced = shared.fenced};
  };
  find(who, past_of(word.known), key, relaxed, Scope::gpu);
  if (who.party >= passed_on_.size()) return;
  for (std::size_t i = 0; i < kScopes; ++i) {
    if (word.found[i].seen == nullptr) continue;
    any_found_ = true;
    passed_on_[who.party][i].join(past_of(word.found[i]));
  }
}

void Order::join_found(Found& found, const Found& more) {
  for (std::size_t i = 0; i < kScopes; ++i) found[i].join(more[i]);
}

void Order::pass_on(const Who& who, Found& to) const {
  if (who.party >= found_.size()) return;
  join_found(to, passed_on_[who.party]);
  for (const auto& group : found_[who.party].all())
    if ((group.lanes & who.lanes) != 0) join_found(to, group.content);
}

// What a fence of a smaller scope does not make known is left for a larger one.
void Order::learn_found(const Who& who, Scope scope) {
  std::vector<std::pair<Mask, Found>> found;
  for (const auto& group : found_[who.party].all())
    if ((group.lanes & who.lanes) != 0) found.emplace_back(group.lanes & who.lanes, group.content);
  for (auto& [lanes, by_scope] : found) {
    for (std::size_t i = 0; i <= static_cast<std::size_t>(scope); ++i) {
      learn({.party = who.party, .lanes = lanes, .live = who.live}, by_scope[i], {});
      by_scope[i] = {};
    }
    scope == Scope::gpu ? found_[who.party].remove(lanes)
                        : found_[who.party].replace(lanes, std::move(by_scope));
  }
}

template <class F>
void Order::mark(const Who& who, F f) {
  Past& known = known_[who.party];
  if (who.party >= groups_.size() || who.whole()) return f(known, known);
  groups_[who.party].add(who.lanes, {}, [&](Past& past) {
    past.parties.resize(known_.size());
    f(known, past);
  });
}

void Order::fence(const Who& who, Scope scope, FenceSides sides) {
  if (sides.acquires) learn_found(who, scope);
  if (sides.sc && any_found_)
    for (std::size_t i = 0; i <= static_cast<std::size_t>(scope); ++i)
      learn(who, passed_on_[who.party][i], {});
  if (!sides.releases) return;
  fences_ = true;
  if (any_found_) pass_on(who, found_released_[who.party]);
  const Horizon mine = own(who);
  if (who.whole()) change_known(who, [&](Past& past) { past.release(scope, past); });
  mark(who, [&](const Past& known, Past& past) {
    past.release(scope, known);
    past.release(scope, past);
    for (std::size_t i = 0; i <= static_cast<std::size_t>(scope); ++i)
      past.parties[who.party].released[i].join(mine);
  });
}

void Order::fence_proxy(const Who& who, const ProxyFence& fence) {
  Horizon mine = own(who);
  mine.join({.all = known_[who.party].parties[who.party].over.all});
  const std::size_t first = who.party / warps_ * warps_;
  const auto mark_all = [&](const Past& known, Past& past) { past.fence_proxy(fence, known, first, warps_); };
  if (who.whole()) change_known(who, [&](Past& past) { mark_all(past, past); });
  mark(who, [&](const Past& known, Past& past) {
    mark_all(known, past);
    mark_all(past, past);
    past.parties[who.party].fence_proxy(fence, mine, true);
  });
}

void Order::sync_lanes(const Who& who) {
  if (any_found_) pass_on(who, passed_on_[who.party]);
  if (!who.whole()) return sync_some(who);
  lanes_synced_[who.party] = tick();
  Past& known = known_[who.party];
  for (const auto& group : groups_[who.party].all()) known.join(group.content);
  groups_[who.party].clear();
}

// What lanes of earlier groups knew, the new one knows.
void Order::sync_some(const Who& who) {
  Past met{.parties = std::vector<Knowledge>(known_.size())};
  publish(who, met);
  groups_[who.party].replace(who.lanes, std::move(met));
}

template <class F>
bool Order::any_beyond(Party party, std::uint8_t lane, F holds) const {
  return party < groups_.size() && groups_[party].any(lane, holds);
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
