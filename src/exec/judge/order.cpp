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
  released_.assign(all, {});
  sc_.assign(all, {});
  any_sc_ = false;
  fences_ = false;
  exited_.assign(blocks, {});
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

void Order::publish(const Who& who, News& at) {
  const Horizon mine = own(who);
  for_known(who, [&](const Past& past) { at.past.join(past); });
  at.past.parties[who.party].seen.join(mine);
  if (any_sc_) at.sc.join(sc_of(who));
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

void Order::gather_sc(Place& place, std::size_t block) {
  if (place.gathered.sc.empty()) return;
  place.sc_gathered.resize(blocks_);
  place.sc_gathered[block].join(std::exchange(place.gathered.sc, {}));
}

std::vector<ScOrder> Order::for_blocks(const std::vector<ScOrder>& gathered) {
  std::vector<ScOrder> learned = gathered;
  for (std::size_t from = 0; from < gathered.size(); ++from) {
    const ScOrder beyond = gathered[from].beyond_block();
    if (beyond.empty()) continue;
    for (std::size_t to = 0; to < learned.size(); ++to)
      if (to != from) learned[to].join(beyond);
  }
  return learned;
}

void Order::arrive(const Who& who, const void* place) {
  Place& at = places_[place];
  publish(who, at.gathered);
  gather_sc(at, who.party / warps_);
}

void Order::arrive_relaxed(const Who& who, const void* place, Scope scope) {
  Place& at = places_[place];
  publish_released(who, at.gathered, scope);
  publish_over(who, at.gathered.past);
  if (any_sc_) at.gathered.sc.observed.join(sc_of(who).happened);
  gather_sc(at, who.party / warps_);
}

void Order::open(const void* place) {
  Place& opened = places_[place];
  opened.opened.join(opened.gathered.past);
  opened.sc_opened = for_blocks(opened.sc_gathered);
  opened.version = ++last_version_;
}

void Order::gather_exited(Place& place, std::size_t block) {
  place.gathered.join(exited_[block]);
  gather_sc(place, block);
}

void Order::open_with_exited(const void* place) {
  for (std::size_t i = 0; i < exited_.size(); ++i) gather_exited(places_[place], i);
  open(place);
}

void Order::open_with_exited(const void* place, std::uint32_t block) {
  gather_exited(places_[place], block);
  open(place);
}

void Order::pass(const Who& who, const void* place, Passing passing) {
  const auto found = places_.find(place);
  if (found == places_.end()) return;
  const Place& at = found->second;
  const ScOrder none;
  const ScOrder& sc = at.sc_opened.empty() ? none : at.sc_opened[who.party / warps_];
  LaneKey key{.place = place, .version = at.version};
  if (!passing.for_cta || blocks_ == 1) return find(who, at.opened, sc, {}, key, passing.relaxed, Scope::cta);
  key.part = 1;
  find(who, within_block(who.party, at.opened), sc, {}, key, passing.relaxed, Scope::cta);
}

Past Order::within_block(Party party, const Past& past) const {
  Past within = past;
  for (std::size_t i = 0; i < within.parties.size(); ++i) {
    if (i == copies_ || i / warps_ == party / warps_) continue;
    Knowledge& other = within.parties[i];
    other.over.join(other.seen);
    other.seen = {};
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

void Order::exit(const Who& who) { publish(who, exited_[who.party / warps_]); }

void Order::store(const Who& who, const void* word) {
  if (const auto at = words_.find(word); at != words_.end() && !at->second.by.contains(who.party))
    words_.erase(at);
  if (grid_ != nullptr) grid_->store(word, cluster_, who.party);
}

void Order::release(const Who& who, const void* word, bool relaxed, Scope scope) {
  if (relaxed && !fences_ && !any_sc_) return;
  News published;
  if (!relaxed) publish(who, published);
  const auto for_scope = [&](Scope reader) -> const News& {
    if (!relaxed) return published;
    published = {};
    publish_released(who, published, reader);
    return published;
  };
  const ScFences sc = any_sc_ ? sc_of(who).happened : ScFences{};
  Word& at = words_[word];
  at.by.insert(who.party);
  at.version = ++last_version_;
  at.by_block.resize(blocks_);
  Published& block = at.by_block[who.party / warps_];
  block.news.join(for_scope(Scope::cta));
  block.sc.join(sc);
  if (blocks_ > 1 && scope >= Scope::cluster) {
    const News& news = for_scope(Scope::cluster);
    at.cluster.news.join({.past = news.past, .sc = news.sc.beyond_block()});
    at.cluster.sc.join(sc.beyond_block());
  }
  if (grid_ != nullptr && scope == Scope::gpu) publish_beyond(who.party, word, for_scope(Scope::gpu), sc);
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

void Order::publish_beyond(Party by, const void* word, const News& published, const ScFences& sc) {
  GridOrder::Word more{.known = beyond(published.past)};
  if (any_sc_) {
    more.sc = beyond(sc.beyond_cluster());
    more.sc_happened = beyond(published.sc.happened.beyond_cluster());
    more.sc_observed = beyond(published.sc.observed.beyond_cluster());
  }
  grid_->publish(word, cluster_, by, more);
}

void Order::find(const Who& who, const Past& past, const ScOrder& sc, const ScFences& before,
                 const LaneKey& key, bool relaxed, Scope scope) {
  if (!relaxed && before.empty()) {
    add_sc(who, sc, key);
  } else {
    ScOrder learned{.happened = relaxed ? ScFences() : sc.happened, .observed = sc.observed};
    learned.observed.join(before);
    add_sc(who, learned, key);
  }
  if (!relaxed) return learn(who, past, key);
  found_[who.party].add(who.lanes, key, [&](Found& found) {
    News& news = found[static_cast<std::size_t>(scope)];
    news.past.join(past);
    news.sc.join(sc);
  });
}

void Order::acquire(const Who& who, const void* word, bool relaxed, Scope scope) {
  const auto key = [&](std::uint8_t part, std::uint64_t version) {
    return LaneKey{.place = word, .version = version, .part = part};
  };
  const auto take = [&](const Published& published, const LaneKey& at, Scope distance) {
    find(who, published.news.past, published.news.sc, published.sc, at, relaxed, distance);
  };
  if (const auto at = words_.find(word); at != words_.end()) {
    const Word& known = at->second;
    take(known.by_block[who.party / warps_], key(0, known.version), Scope::cta);
    if (blocks_ > 1 && scope >= Scope::cluster) take(known.cluster, key(1, known.version), Scope::cluster);
  }
  if (grid_ == nullptr || scope != Scope::gpu) return;
  if (const GridOrder::Word* known = grid_->at(word))
    take_beyond(who, *known, key(2, known->version), relaxed);
}

void Order::take_beyond(const Who& who, const GridOrder::Word& word, const LaneKey& key, bool relaxed) {
  const auto past_of = [](const GridOrder::Shared& shared) {
    return Past{.parties = {}, .others = shared.seen, .others_fenced = shared.fenced};
  };
  News news{.past = past_of(word.known), .sc = {}};
  news.sc.happened.add_from_beyond(past_of(word.sc_happened));
  news.sc.observed.add_from_beyond(past_of(word.sc_observed));
  ScFences before;
  before.add_from_beyond(past_of(word.sc));
  any_sc_ |= !before.empty() || !news.sc.empty();
  find(who, news.past, news.sc, before, key, relaxed, Scope::gpu);
}

void Order::sync_lanes(const Who& who) {
  if (any_sc_) sc_[who.party].replace(who.lanes, sc_of(who));
  if (!who.whole()) return sync_some(who);
  lanes_synced_[who.party] = tick();
  Past& known = known_[who.party];
  for (const auto& group : groups_[who.party].all()) known.join(group.content);
  groups_[who.party].clear();
}

// What lanes of earlier groups knew, the new one knows.
void Order::sync_some(const Who& who) {
  News met{.past = {.parties = std::vector<Knowledge>(known_.size())}, .sc = {}};
  publish(who, met);
  groups_[who.party].replace(who.lanes, std::move(met.past));
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
