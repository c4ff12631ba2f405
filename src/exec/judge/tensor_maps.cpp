// SPDX-License-Identifier: Apache-2.0
#include "exec/judge/tensor_maps.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "exec/machine/cluster.hpp"

namespace ptxloom::exec {
namespace {

constexpr const char* kAcquireHint =
    "use fence.proxy.tensormap::generic.acquire of the map's 128 bytes before the copy, with a scope that "
    "includes the writer";
constexpr const char* kReleaseHint =
    "use fence.proxy.tensormap::generic.release after the write, or tensormap.cp_fenceproxy for it";

}  // namespace

void TensorMaps::start() {
  publishers_.clear();
  released_.clear();
  acquired_.clear();
}

Party TensorMaps::party_of(const Warp& warp) const {
  return order_->party_of(warp.block().rank(), warp.index());
}

std::uint32_t TensorMaps::number_of(const Operation& op) const {
  return cluster_->grid().code().number_of(op);
}

bool TensorMaps::is_released(const GlobalTouch& write) const {
  if (write.cluster != cluster_->index() || publishers_.contains(write.operation)) return true;
  const auto found = released_.find(write.party);
  return found != released_.end() && found->second >= write.time;
}

TensorMaps::Writes TensorMaps::writes_of(const std::byte* map) const {
  Writes writes;
  global_->for_writes(map, kBytes, [&](const GlobalTouch& write) {
    writes.all.insert(key_of(write));
    writes.released &= is_released(write);
    writes.last = write;
  });
  constexpr std::uint64_t kMix = 0x9e37'79b9'7f4a'7c15;
  for (const Write& write : writes.all)
    for (const std::uint64_t part : write) writes.version = (writes.version + part + 1) * kMix;
  return writes;
}

template <class F>
bool TensorMaps::any_acquire(const Actor& actor, const std::byte* map, F holds) const {
  const auto found = acquired_.find(map);
  if (found == acquired_.end()) return false;
  const auto lane = static_cast<std::uint8_t>(actor.lane);
  return std::ranges::any_of(found->second, [&](const Acquire& each) {
    return holds(each) &&
           (each.warp == actor.warp ||
            order_->knows(party_of(*actor.warp), lane, party_of(*each.warp), kSeveralLanes, each.time));
  });
}

bool TensorMaps::is_in_scope(const Actor& actor, const GlobalTouch& write) const {
  const Code& code = cluster_->grid().code();
  const Variant& variant = code.function_of(*actor.op).instructions[actor.op->instruction].variant;
  const bool is_here = write.cluster == cluster_->index();
  return scope_of(variant.slot("scope").value_or("")) >=
         (is_here ? order_->distance(party_of(*actor.warp), write.party) : Scope::gpu);
}

// A fence acquires what threads in its scope have written. What was acquired before stays so.
void TensorMaps::acquire(const Actor& actor, const std::byte* map) {
  bool acquires = true;
  global_->for_writes(map, kBytes, [&](const GlobalTouch& write) {
    acquires = acquires && (is_in_scope(actor, write) || any_acquire(actor, map, [&](const Acquire& each) {
                              return each.writes.all.contains(key_of(write));
                            }));
  });
  if (!acquires) return;
  auto& acquired = acquired_[map];
  std::erase_if(acquired, [&](const Acquire& each) { return each.warp == actor.warp; });
  acquired.push_back({.warp = actor.warp, .time = order_->now(), .writes = writes_of(map)});
}

bool TensorMaps::has_acquired(const Actor& actor, const std::byte* map, std::uint64_t version) const {
  return any_acquire(actor, map, [&](const Acquire& each) { return each.writes.version == version; });
}

void TensorMaps::use(const Actor& actor, const std::byte* map) {
  const Writes writes = writes_of(map);
  if (writes.version == 0) return;
  const bool acquired = has_acquired(actor, map, writes.version);
  if (writes.released && acquired) return;
  const Operation& writer = cluster_->grid().code().operations[writes.last.operation];
  const Misuse misuse{.code = "tensormap-fence", .other_warp = actor.warp, .other_op = &writer};
  report(actor, misuse, writes.released ? kAcquireHint : kReleaseHint, [&] {
    return fmt::format("it uses a tensor map that {} writes, with no {} through the tensormap proxy between",
                       describe_with_line(*actor.warp, writer),
                       writes.released ? "acquire whose scope includes the writer" : "release");
  });
}

}  // namespace ptxloom::exec
