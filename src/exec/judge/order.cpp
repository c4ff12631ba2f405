// SPDX-License-Identifier: Apache-2.0
#include "exec/judge/order.hpp"

#include <algorithm>

namespace ptxloom::exec {

void Order::reset(std::size_t warps) {
  now_ = 1;
  known_.assign(warps + 1, Clock(warps + 1));
  exited_.assign(warps + 1, {});
  lanes_synced_.assign(warps, 0);
  places_.clear();
}

void Order::join(Clock& clock, const Clock& other) {
  if (clock.size() < other.size()) clock.resize(other.size());
  for (std::size_t i = 0; i < other.size(); ++i) {
    clock[i].seen = std::max(clock[i].seen, other[i].seen);
    clock[i].fenced = std::max(clock[i].fenced, other[i].fenced);
  }
}

// What the party does from now on is later than what it publishes here.
void Order::leave(Party party, Clock& at) {
  known_[party][party].seen = tick();
  join(at, known_[party]);
}

void Order::arrive(Party party, const void* place) { leave(party, places_[place].gathered); }

void Order::open(const void* place) {
  Place& opened = places_[place];
  join(opened.opened, opened.gathered);
}

void Order::open_with_exited(const void* place) {
  join(places_[place].gathered, exited_);
  open(place);
}

void Order::pass(Party party, const void* place) {
  const auto found = places_.find(place);
  if (found != places_.end()) join(known_[party], found->second.opened);
  if (party < lanes_synced_.size()) sync_lanes(party);
}

void Order::touch(Party party, const void* place) {
  arrive(party, place);
  open(place);
  pass(party, place);
}

void Order::exit(Party party) { leave(party, exited_); }

void Order::sync_lanes(Party warp) { lanes_synced_[warp] = tick(); }

void Order::fence_proxy(Party warp) {
  known_[warp][warp].seen = tick();
  for (Knowledge& each : known_[warp]) each.fenced = each.seen;
}

}  // namespace ptxloom::exec
