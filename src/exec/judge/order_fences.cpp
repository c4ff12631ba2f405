// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <memory>
#include <utility>
#include <vector>

#include "exec/judge/order.hpp"

// Fences: what they cover of what their threads know, and what they make known.
namespace ptxloom::exec {
namespace {

// What some lanes know: what their whole warp does, and more, if they do.
struct KnownBy {
  Who who;
  const Past* of_warp;
  const Past* of_lanes;
  Time synced;  // what all lanes of the warp did until then, they know

  bool has_party(std::size_t party, Knowledge more) const {
    if (of_warp->parties[party].covers(more)) return true;
    Knowledge known = of_warp->parties[party];
    if (of_lanes != nullptr) known.join(of_lanes->parties[party]);
    if (party == who.party) {
      known.seen.join({.all = synced});
      const bool is_own = std::has_single_bit(who.lanes) && (more.seen.lanes & ~who.lanes) == 0;
      if (is_own) more.seen = {.all = more.seen.all};
    }
    return known.covers(more);
  }
  bool has_others(GridOrder::Known Past::* part, const Past& past) const {
    return past.*part == nullptr || past.*part == of_warp->*part ||
           (of_lanes != nullptr && past.*part == of_lanes->*part);
  }
  bool has_all(const Past& past) const {
    for (std::size_t i = 0; i < past.parties.size(); ++i)
      if (!has_party(i, past.parties[i])) return false;
    return has_others(&Past::others, past) && has_others(&Past::others_fenced, past);
  }
};

}  // namespace

template <class F>
void Order::change_known(const Who& who, F f) {
  f(known_[who.party]);
  if (who.party < groups_.size()) groups_[who.party].change(who.lanes, f);
}

void Order::publish_released(const Who& who, News& at, Scope scope) {
  tick();
  if (who.party >= released_.size()) return;
  for (const auto& group : released_[who.party].all()) {
    const Mask lanes = group.lanes & who.lanes;
    const auto& part = group.content.parts[static_cast<std::size_t>(scope)];
    if (lanes == 0 || part == nullptr) continue;
    at.past.join(part->past);
    at.sc.join(part->sc);
    const bool whole = (who.live & ~lanes) == 0;
    at.past.parties[who.party].seen.join(whole ? Horizon{.all = part->own}
                                               : Horizon{.some = part->own, .lanes = lanes});
  }
}

ScOrder Order::sc_of(const Who& who) const {
  ScOrder all;
  if (who.party >= sc_.size()) return all;
  for (const auto& group : sc_[who.party].all())
    if ((group.lanes & who.lanes) != 0) all.join(group.content);
  return all;
}

void Order::add_sc(const Who& who, const ScOrder& sc, const LaneKey& key) {
  if (who.party >= sc_.size() || sc.empty()) return;
  sc_[who.party].add(who.lanes, key, [&](ScOrder& before) { before.join(sc); });
}

// What a fence of a smaller scope does not make known is left for a larger one.
void Order::learn_found(const Who& who, Scope scope) {
  std::vector<std::pair<Mask, Found>> found;
  for (const auto& group : found_[who.party].all())
    if ((group.lanes & who.lanes) != 0) found.emplace_back(group.lanes & who.lanes, group.content);
  for (auto& [lanes, by_scope] : found) {
    for (std::size_t i = 0; i <= static_cast<std::size_t>(scope); ++i) {
      const Who some{.party = who.party, .lanes = lanes, .live = who.live};
      learn(some, by_scope[i].past, {});
      add_sc(some, by_scope[i].sc, {});
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

// Nothing is learned that is known: lanes of the warp that know the same stay together.
void Order::learn_sc(const Who& who, Scope scope) {
  const auto is_known = [&](const Who& some, const Past& past) {
    KnownBy known{some, &known_[who.party], nullptr, lanes_synced_[who.party]};
    Mask rest = some.lanes;
    for (const auto& group : groups_[who.party].all()) {
      if ((group.lanes & some.lanes) == 0) continue;
      rest &= ~group.lanes;
      known.of_lanes = &group.content;
      if (!known.has_all(past)) return false;
    }
    known.of_lanes = nullptr;
    return rest == 0 || known.has_all(past);
  };
  for (const auto& group : sc_[who.party].all()) {
    const Who some{.party = who.party, .lanes = group.lanes & who.lanes, .live = who.live};
    if (some.lanes == 0) continue;
    for (const ScFences* before : {&group.content.happened, &group.content.observed})
      before->for_each_known(scope, [&](const Past& past) {
        if (!is_known(some, past)) learn(some, past, {});
      });
  }
}

template <class F>
void Order::for_alike(const Who& who, F f) {
  const auto with = [&](Mask lanes, const Past* more) {
    Past past = known_[who.party];
    if (more != nullptr) past.join(*more);
    past.parties[who.party].seen.join({.all = lanes_synced_[who.party]});
    f(past, lanes);
  };
  Mask rest = who.lanes;
  for (const auto& group : groups_[who.party].all()) {
    if ((group.lanes & who.lanes) != 0) with(group.lanes & who.lanes, &group.content);
    rest &= ~group.lanes;
  }
  if (rest != 0) with(rest, nullptr);
}

void Order::cover_sc(Party party, Mask lanes, Scope scope, Past known, Time now) {
  known.parties[party].seen.join({.some = now, .lanes = lanes});
  const auto past = std::make_shared<Past>(std::move(known));
  if (scope != Scope::gpu)
    return sc_[party].add(lanes, {}, [&](ScOrder& order) { order.happened.add(scope, past); });
  ScOrder order;  // what they had, this fence.sc has made known
  order.happened.add(scope, past);
  sc_[party].replace(lanes, std::move(order));
}

void Order::fence(const Who& who, Scope scope, FenceSides sides) {
  if (sides.acquires) learn_found(who, scope);
  if (sides.sc) learn_sc(who, scope);
  if (!sides.releases) return;
  fences_ = true;
  any_sc_ |= sides.sc;
  const Time now = tick();
  for_alike(who, [&](Past& past, Mask lanes) {
    if (sides.sc) cover_sc(who.party, lanes, scope, past, now);
    const auto part = std::make_shared<const Released::Part>(
        Released::Part{.past = std::move(past),
                       .sc = any_sc_ ? sc_of({.party = who.party, .lanes = lanes}) : ScOrder{},
                       .own = now});
    released_[who.party].add(lanes, {}, [&](Released& released) { released.set(scope, part); });
  });
  released_[who.party].join_equal();
}

Past Order::known_by(const Who& who) {
  News news;
  publish(who, news);
  return std::move(news.past);
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

}  // namespace ptxloom::exec
