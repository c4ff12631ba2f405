// SPDX-License-Identifier: Apache-2.0
#include "exec/judge/tensor_maps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "exec/machine/cluster.hpp"

namespace ptxloom::exec {

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
  std::set<std::array<std::uint64_t, 3>> known;
  global_->for_writes(map, kBytes, [&](const GlobalTouch& write) {
    known.insert({write.time, write.cluster, write.party});
    writes.released &= is_released(write);
    writes.last = write;
  });
  constexpr std::uint64_t kMix = 0x9e37'79b9'7f4a'7c15;
  for (const auto& write : known)
    for (const std::uint64_t part : write) writes.version = (writes.version + part + 1) * kMix;
  return writes;
}

// A fence acquires what threads in its scope have written.
void TensorMaps::acquire(const Actor& actor, const std::byte* map) {
  const Code& code = cluster_->grid().code();
  const Variant& variant = code.function_of(*actor.op).instructions[actor.op->instruction].variant;
  const Scope scope = scope_of(variant.slot("scope").value_or(""));
  bool in_scope = true;
  global_->for_writes(map, kBytes, [&](const GlobalTouch& write) {
    in_scope = in_scope && scope >= (write.cluster == cluster_->index()
                                         ? order_->distance(party_of(*actor.warp), write.party)
                                         : Scope::gpu);
  });
  if (!in_scope) return;
  auto& acquired = acquired_[map];
  std::erase_if(acquired, [&](const Acquire& each) { return each.warp == actor.warp; });
  acquired.push_back({.warp = actor.warp, .time = order_->now(), .version = writes_of(map).version});
}

bool TensorMaps::has_acquired(const Actor& actor, const std::byte* map, std::uint64_t version) const {
  const auto found = acquired_.find(map);
  if (found == acquired_.end()) return false;
  const auto lane = static_cast<std::uint8_t>(actor.lane);
  return std::ranges::any_of(found->second, [&](const Acquire& each) {
    return each.version == version &&
           (each.warp == actor.warp ||
            order_->knows(party_of(*actor.warp), lane, party_of(*each.warp), kSeveralLanes, each.time));
  });
}

void TensorMaps::use(const Actor& actor, const std::byte* map) {
  const Writes writes = writes_of(map);
  if (writes.version == 0) return;
  const bool acquired = has_acquired(actor, map, writes.version);
  if (writes.released && acquired) return;
  const Operation& writer = cluster_->grid().code().operations[writes.last.operation];
  const Misuse misuse{.code = "tensormap-fence", .other_warp = actor.warp, .other_op = &writer};
  report(
      actor, misuse,
      writes.released
          ? "use fence.proxy.tensormap::generic.acquire of the map's 128 bytes before the copy, with a scope "
            "that "
            "includes the writer"
          : "use fence.proxy.tensormap::generic.release after the write, or tensormap.cp_fenceproxy for it",
      [&] {
        return fmt::format("it uses a tensor map that {} writes, and {} through the tensormap proxy",
                           describe_with_line(*actor.warp, writer),
                           writes.released ? "nothing acquires it" : "nothing releases it");
      });
}

}  // namespace ptxloom::exec
