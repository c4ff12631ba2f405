// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <utility>

#include "exec/judge/races.hpp"
#include "exec/machine/cluster.hpp"

// What reports of races in shared memory say.
namespace ptxloom::exec {
namespace {

constexpr const char* kSynchronise =
    "put a barrier between the two: bar.sync or an mbarrier, bar.warp.sync within a warp, barrier.cluster "
    "within a cluster";

}  // namespace

const Warp* Races::warp_of(const Touch& touch) const {
  if (touch.party == order_.copies()) return nullptr;
  const auto& blocks = cluster_->blocks();
  const std::size_t warps = blocks.front().warps().size();
  return &blocks[touch.party / warps].warps()[touch.party % warps];
}

std::string Races::describe(const Touch& touch) const {
  const auto& blocks = cluster_->blocks();
  const Operation& op = cluster_->grid().code().operations[touch.operation];
  const Warp* warp = warp_of(touch);
  if (warp == nullptr) return describe_with_line(blocks.front().warps().front(), op);
  const std::string block = blocks.size() == 1 ? "" : fmt::format(" of block {}", warp->block().rank());
  const std::string lane = touch.lane == kSeveralLanes ? "" : fmt::format(", lane {}", touch.lane);
  return fmt::format("{} of warp {}{}{}", describe_with_line(*warp, op), warp->index(), lane, block);
}

// One finding an access is enough: its other bytes have the same.
void Races::find(const Here& here, std::string_view code, const Touch* other, const char* hint,
                 const std::function<std::string()>& what) {
  if (std::exchange(found_, true)) return;
  Misuse misuse{.code = code, .address = fmt::format("shared + {:#x}", here.offset)};
  if (cluster_->blocks().size() != 1)
    misuse.address = fmt::format("shared of thread block {} + {:#x}", here.rank, here.offset);
  if (other != nullptr && other->time != 0) {
    misuse.other_warp = warp_of(*other);
    misuse.other_op = &cluster_->grid().code().operations[other->operation];
    misuse.other_lane = other->lane == kSeveralLanes ? -1 : other->lane;
    misuse.since = other->time;
  }
  report(here.actor, misuse, hint, what);
}

void Races::race(const Here& here, const Touch& other, const char* did) {
  if (other.time == kInFlight) return under_way(here, &other, did);
  find(here, "data-race", &other, kSynchronise, [&] {
    return fmt::format("it {} byte {:#x} of shared memory, which {} {}, and nothing orders the two{}",
                       here.does, here.offset, describe(other), did,
                       why_not_strong(here.touch.kind, other.kind));
  });
}

void Races::under_way(const Here& here, const Touch* copy, const char* does) {
  find(here, "copy-not-awaited", copy,
       "wait for the copy first: cp.async.wait_group, cp.async.bulk.wait_group, or its mbarrier", [&] {
         return fmt::format(
             "it {} byte {:#x} of shared memory, which an asynchronous copy in flight still {}", here.does,
             here.offset, does);
       });
}

void Races::used_as_data(const Here& here) {
  find(here, "mbarrier-as-data", nullptr,
       "access it with mbarrier instructions, or end it with mbarrier.inval first", [&] {
         return fmt::format("it {} byte {:#x} of shared memory, which is part of an mbarrier", here.does,
                            here.offset);
       });
}

}  // namespace ptxloom::exec
