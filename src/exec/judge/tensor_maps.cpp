// SPDX-License-Identifier: Apache-2.0
#include "exec/judge/tensor_maps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string_view>
#include <utility>

#include "exec/machine/cluster.hpp"

namespace ptxloom::exec {
namespace {

constexpr const char* kAcquireHint =
    "use fence.proxy.tensormap::generic.acquire of the map's 128 bytes after the release and before the "
    "copy, with a scope that includes the writer";
constexpr const char* kReleaseHint =
    "use fence.proxy.tensormap::generic.release after the write, or tensormap.cp_fenceproxy for it, with a "
    "scope that includes this thread";
// Writes a map and releases it.
constexpr std::string_view kPublisher = "tensormap.cp_fenceproxy";

Scope scope_in(const Variant& variant) { return scope_of(variant.slot("scope").value_or("")); }

}  // namespace

void TensorMaps::start() {
  released_.clear();
  acquired_.clear();
}

Party TensorMaps::party_of(const Warp& warp) const {
  return order_->party_of(warp.block().rank(), warp.index());
}

const Variant& TensorMaps::variant_of(const Operation& op) const {
  return cluster_->grid().code().function_of(op).instructions[op.instruction].variant;
}

Scope TensorMaps::distance(const Actor& actor, const GlobalTouch& write) const {
  return write.cluster == cluster_->index() ? order_->distance(party_of(*actor.warp), write.party)
                                            : Scope::gpu;
}

void TensorMaps::release(const Warp& warp, const Operation& op, Mask lanes) {
  const Who who{.party = party_of(warp), .lanes = lanes, .live = warp.flow().live()};
  const Scope scope = scope_in(variant_of(op));
  std::erase_if(released_, [&](const Release& each) {
    return each.party == who.party && each.lanes == lanes && each.scope == scope;
  });
  Past past = order_->known_by(who);
  released_.push_back(
      {.party = who.party, .lanes = lanes, .scope = scope, .time = order_->now(), .past = std::move(past)});
}

bool TensorMaps::is_released(const Actor& actor, const GlobalTouch& write) const {
  const Variant& writer = variant_of(cluster_->grid().code().operations[write.operation]);
  if (writer.form() == kPublisher) return scope_in(writer) >= distance(actor, write);
  if (write.cluster != cluster_->index()) return true;
  const Party party = party_of(*actor.warp);
  return std::ranges::any_of(released_, [&](const Release& each) {
    return each.scope >= order_->distance(party, each.party) &&
           knows(actor, each.party, each.lanes, each.time) &&
           each.past.parties[write.party].seen.covers(write.time, write.lane);
  });
}

bool TensorMaps::all_released(const Actor& actor, const std::byte* map) const {
  bool all = true;
  global_->for_writes(map, kBytes, [&](const GlobalTouch& write) { all = all && is_released(actor, write); });
  return all;
}

TensorMaps::Writes TensorMaps::writes_of(const std::byte* map) const {
  Writes writes;
  global_->for_writes(map, kBytes, [&](const GlobalTouch& write) {
    writes.all.insert(key_of(write));
    writes.last = write;
  });
  constexpr std::uint64_t kMix = 0x9e37'79b9'7f4a'7c15;
  for (const Write& write : writes.all)
    for (const std::uint64_t part : write) writes.version = (writes.version + part + 1) * kMix;
  return writes;
}

bool TensorMaps::knows(const Actor& actor, Party other, Mask lanes, Time time) const {
  const auto lane = static_cast<std::uint8_t>(actor.lane);
  const Party party = party_of(*actor.warp);
  if (other == party && (lanes & lane_bit(actor.lane)) != 0) return true;
  for (; lanes != 0; lanes &= lanes - 1)
    if (order_->knows(party, lane, other, static_cast<std::uint8_t>(std::countr_zero(lanes)), time))
      return true;
  return false;
}

template <class F>
bool TensorMaps::any_acquire(const Actor& actor, const std::byte* map, F holds) const {
  const auto found = acquired_.find(map);
  if (found == acquired_.end()) return false;
  return std::ranges::any_of(found->second, [&](const Acquire& each) {
    return holds(each) && knows(actor, party_of(*each.warp), each.lanes, each.time);
  });
}

// A fence acquires what threads in its scope have written and released. What was acquired before stays so,
// since the time when it was.
void TensorMaps::acquire(const Actor& actor, const std::byte* map) {
  const Scope scope = scope_in(variant_of(*actor.op));
  bool acquires = true;
  global_->for_writes(map, kBytes, [&](const GlobalTouch& write) {
    acquires = acquires && ((scope >= distance(actor, write) && is_released(actor, write)) ||
                            any_acquire(actor, map, [&](const Acquire& each) {
                              return each.writes.all.contains(key_of(write));
                            }));
  });
  if (!acquires) return;
  auto& acquired = acquired_[map];
  const Mask lane = lane_bit(actor.lane);
  const Time now = order_->now();
  Writes writes = writes_of(map);
  for (Acquire& each : acquired) {
    if (each.warp != actor.warp || (each.lanes & lane) == 0) continue;
    if (each.writes.version == writes.version) return;
    each.lanes &= ~lane;
  }
  std::erase_if(acquired, [](const Acquire& each) { return each.lanes == 0; });
  const auto same = std::ranges::find_if(acquired, [&](const Acquire& each) {
    return each.warp == actor.warp && each.time == now && each.writes.version == writes.version;
  });
  if (same != acquired.end()) {
    same->lanes |= lane;
  } else {
    acquired.push_back({.warp = actor.warp, .lanes = lane, .time = now, .writes = std::move(writes)});
  }
}

bool TensorMaps::has_acquired(const Actor& actor, const std::byte* map, std::uint64_t version) const {
  return any_acquire(actor, map, [&](const Acquire& each) { return each.writes.version == version; });
}

void TensorMaps::use(const Actor& actor, const std::byte* map) {
  const Writes writes = writes_of(map);
  if (writes.version == 0 || has_acquired(actor, map, writes.version)) return;
  const bool released = all_released(actor, map);
  const Operation& writer = cluster_->grid().code().operations[writes.last.operation];
  const Misuse misuse{.code = "tensormap-fence",
                      .other_warp = global_->warp_of(writes.last),
                      .other_op = &writer,
                      .other_lane = writes.last.lane};
  report(actor, misuse, released ? kAcquireHint : kReleaseHint, [&] {
    return fmt::format(
        "it uses a tensor map that {} writes, with no {} through the tensormap proxy between",
        describe_with_line(*actor.warp, writer),
        released ? "acquire whose scope includes the writer" : "release whose scope includes this thread");
  });
}

}  // namespace ptxloom::exec
