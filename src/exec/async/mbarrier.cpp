// SPDX-License-Identifier: Apache-2.0
#include "exec/async/mbarrier.hpp"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "exec/machine/cluster.hpp"
#include "exec/memory/address.hpp"

namespace ptxloom::exec {
namespace {

// The state that an arrival returns: a mark, the arrivals that were pending, the phase.
constexpr std::uint64_t kStateMark = 0x6ba, kMarkShift = 52, kPendingShift = 32;

void check_state(const Actor& actor, std::uint64_t state) {
  if (state >> kMarkShift == kStateMark) return;
  fault(actor, "mbarrier-state", fmt::format("{:#x} is not a state of an mbarrier", state),
        "use the state that mbarrier.arrive returned");
}

}  // namespace

std::uint64_t Mbarriers::Mbarrier::pattern() const {
  return expected | std::uint64_t{pending} << 20 |
         std::uint64_t{static_cast<std::uint32_t>(bytes) & 0x3f'ffff} << 40 | std::uint64_t{phase & 3} << 62;
}

void Mbarriers::finish() {
  for (const auto& [offset, barrier] : barriers_) {
    if (barrier.due.empty()) continue;
    fault(barrier.due.front().actor, "copy-not-awaited",
          fmt::format(
              "the thread block ends while this copy is in flight: nothing waited for the mbarrier at {:#x}",
              offset),
          "wait for the phase of the mbarrier that counts the copy, before the last thread exits");
  }
}

void Mbarriers::complete_copies(const std::function<bool()>& should_complete) {
  for (auto& [offset, barrier] : barriers_) {
    const std::vector<Due> due = std::exchange(barrier.due, {});
    for (const Due& each : due) {
      if (should_complete()) {
        each.happen();
      } else {
        barrier.due.push_back(each);
      }
    }
  }
}

void Mbarriers::init(const Actor& actor, std::uint32_t offset, std::uint32_t count) {
  if (count == 0 || count > kMostArrivals) {
    fault(actor, "mbarrier-count", fmt::format("an mbarrier that expects {} arrivals", count),
          fmt::format("use a count of 1 to {}", kMostArrivals));
  }
  const auto [entry, added] = barriers_.try_emplace(offset);
  Mbarrier& barrier = entry->second;
  std::uint64_t there = 0;
  std::memcpy(&there, block_->shared().data() + offset, sizeof there);
  if (!added && there == barrier.pattern()) {
    fault(actor, "mbarrier-initialised", fmt::format("there is already an mbarrier at {:#x}", offset),
          "initialise it once, by one thread; mbarrier.inval ends it");
  }
  barrier = {.expected = count, .pending = count, .last = {}, .due = {}};
  settle(offset, barrier);
}

void Mbarriers::invalidate(const Actor& actor, std::uint32_t offset) {
  if (!at(actor, offset).due.empty()) {
    fault(actor, "mbarrier-busy",
          fmt::format("copies that the mbarrier at {:#x} counts are in flight", offset),
          "wait for its phase first");
  }
  barriers_.erase(offset);
}

Mbarriers::Mbarrier& Mbarriers::at(const Actor& actor, std::uint32_t offset) {
  const auto found = barriers_.find(offset);
  if (found == barriers_.end()) {
    fault(actor, "mbarrier-uninitialised",
          fmt::format("there is no mbarrier at {:#x} of shared memory", offset),
          "use mbarrier.init first, then a barrier, so that other threads see it");
  }
  std::uint64_t there = 0;
  std::memcpy(&there, block_->shared().data() + offset, sizeof there);
  if (there != found->second.pattern()) {
    fault(actor, "mbarrier-overwritten", fmt::format("the mbarrier at {:#x} was overwritten", offset),
          "do not write other data there, or end the mbarrier with mbarrier.inval first");
  }
  return found->second;
}

// Moves on to the next phase if this one is complete.
void Mbarriers::settle(std::uint32_t offset, Mbarrier& barrier) {
  if (barrier.pending == 0 && barrier.bytes == 0) {
    ++barrier.phase;
    barrier.pending = barrier.expected;
    if (Judge* judge = block_->cluster().judge()) judge->open(&barrier);
  }
  const std::uint64_t pattern = barrier.pattern();
  std::memcpy(block_->shared().data() + offset, &pattern, sizeof pattern);
  block_->cluster().note_progress();
}

std::uint64_t Mbarriers::arrive(const Actor& actor, std::uint32_t offset, const Arriving& arriving) {
  if (arriving.expected_bytes != 0) expect(actor, offset, arriving.expected_bytes);
  Mbarrier& barrier = at(actor, offset);
  const std::uint64_t state =
      kStateMark << kMarkShift | std::uint64_t{barrier.pending} << kPendingShift | barrier.phase;
  if (arriving.count == 0 || arriving.count > barrier.pending ||
      (arriving.drop && arriving.count > barrier.expected)) {
    fault(actor, "mbarrier-count",
          fmt::format("{} arrivals, but phase {} of the mbarrier at {:#x} expects only {} more of {}",
                      arriving.count, barrier.phase, offset, barrier.pending, barrier.expected),
          "initialise it with the number of arrivals of a phase, and wait for each phase before the next");
  }
  judge_arrival(actor, barrier, arriving);
  barrier.last = actor;
  barrier.pending -= arriving.count;
  if (arriving.drop) barrier.expected -= arriving.count;
  if (!arriving.may_complete && barrier.pending == 0 && barrier.bytes == 0) {
    fault(actor, "mbarrier-completes",
          "the arrival completes the phase, but .noComplete says that it does not", "leave out .noComplete");
  }
  settle(offset, barrier);
  return state;
}

// A release for the own thread block says nothing to those who wait in another.
void Mbarriers::judge_arrival(const Actor& actor, const Mbarrier& barrier, const Arriving& arriving) const {
  Judge* const judge = actor.warp->judge();
  if (judge == nullptr) return;
  const bool remote = &actor.warp->block() != block_;
  const Mask lane = lane_bit(actor.lane);
  if (!arriving.relaxed && !(remote && arriving.for_cta)) return judge->arrive(*actor.warp, lane, &barrier);
  judge->arrive_relaxed(*actor.warp, lane, &barrier, remote ? Scope::cluster : Scope::cta);
}

void Mbarriers::expect(const Actor& actor, std::uint32_t offset, std::uint32_t bytes) {
  Mbarrier& barrier = at(actor, offset);
  if (std::int64_t{barrier.bytes} + bytes > std::int64_t{kMostArrivals}) {
    fault(actor, "mbarrier-bytes",
          fmt::format("the mbarrier at {:#x} would expect {} bytes", offset,
                      std::int64_t{barrier.bytes} + bytes),
          fmt::format("expect at most {} bytes in a phase", kMostArrivals));
  }
  barrier.bytes += static_cast<std::int32_t>(bytes);
  settle(offset, barrier);
}

void Mbarriers::complete(const Actor& actor, std::uint32_t offset, std::uint32_t bytes) {
  Mbarrier& barrier = at(actor, offset);
  if (std::int64_t{barrier.bytes} - bytes < -std::int64_t{kMostArrivals}) {
    fault(actor, "mbarrier-bytes",
          fmt::format("more bytes arrive at the mbarrier at {:#x} than it can count", offset),
          "expect the bytes of each copy (mbarrier.arrive.expect_tx)");
  }
  if (Judge* judge = actor.warp->judge()) judge->arrive(&barrier);
  barrier.bytes -= static_cast<std::int32_t>(bytes);
  settle(offset, barrier);
}

void Mbarriers::add_pending(const Actor& actor, std::uint32_t offset) {
  Mbarrier& barrier = at(actor, offset);
  if (barrier.pending == kMostArrivals) {
    fault(actor, "mbarrier-count", "the mbarrier cannot count more arrivals",
          "use .noinc, with an expected count that includes these arrivals");
  }
  ++barrier.pending;
  settle(offset, barrier);
}

void Mbarriers::after_failed_test(const Actor& actor, std::uint32_t offset, std::function<void()> happen) {
  at(actor, offset).due.push_back({.actor = actor, .happen = std::move(happen)});
}

void Mbarriers::test_failed(std::uint32_t offset) {
  const std::vector<Due> due = std::exchange(barriers_[offset].due, {});
  for (const Due& each : due) each.happen();
  if (!due.empty()) block_->cluster().note_progress();
}

bool Mbarriers::test_state(const Actor& actor, std::uint32_t offset, std::uint64_t state, Passing passing) {
  check_state(actor, state);
  const Mbarrier& barrier = at(actor, offset);
  const std::uint32_t behind = barrier.phase - static_cast<std::uint32_t>(state);
  if (behind > 1) {
    fault(actor, "mbarrier-phase",
          fmt::format("the state is that of phase {}, but the mbarrier at {:#x} is in phase {}",
                      static_cast<std::uint32_t>(state), offset, barrier.phase),
          "test the current phase or the one before it");
  }
  return passed(actor, barrier, behind == 1, passing);
}

bool Mbarriers::test_parity(const Actor& actor, std::uint32_t offset, std::uint32_t parity, Passing passing) {
  if (parity > 1) {
    fault(actor, "mbarrier-phase", fmt::format("{} is not a parity of a phase", parity), "use 0 or 1");
  }
  const Mbarrier& barrier = at(actor, offset);
  return passed(actor, barrier, (barrier.phase & 1) != parity, passing);
}

bool Mbarriers::passed(const Actor& actor, const Mbarrier& barrier, bool complete, Passing passing) {
  Judge* judge = actor.warp->judge();
  if (judge != nullptr && complete) judge->pass(*actor.warp, lane_bit(actor.lane), &barrier, passing);
  return complete;
}

std::uint32_t Mbarriers::pending_of(const Actor& actor, std::uint64_t state) {
  check_state(actor, state);
  return static_cast<std::uint32_t>(state >> kPendingShift) & kMostArrivals;
}

std::string Mbarriers::describe(std::uint32_t offset) const {
  const auto found = barriers_.find(offset);
  if (found == barriers_.end()) return "it waits for an mbarrier that was invalidated";
  const Mbarrier& barrier = found->second;
  std::string text =
      fmt::format("phase {} (parity {}) of the mbarrier at {:#x} lacks {} of {} arrivals and {} bytes",
                  barrier.phase, barrier.phase & 1, offset, barrier.pending, barrier.expected, barrier.bytes);
  if (barrier.bytes < 0)
    text += fmt::format("; {} bytes have arrived that were not expected", -barrier.bytes);
  if (barrier.pending == barrier.expected && barrier.bytes == 0) {
    text += "; no thread has arrived in this phase";
    if (barrier.phase > 0)
      text += fmt::format(", and phase {} (parity {}) is complete", barrier.phase - 1, ~barrier.phase & 1);
  }
  if (barrier.last) {
    text +=
        fmt::format("; the last to arrive was lane {} of warp {} by {}", barrier.last->lane,
                    barrier.last->warp->index(), describe_with_line(*barrier.last->warp, *barrier.last->op));
  }
  return text;
}

}  // namespace ptxloom::exec
