// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "exec/judge/horizon.hpp"
#include "exec/machine/fault.hpp"
#include "exec/machine/lanes.hpp"
#include "exec/machine/state.hpp"

// Asynchronous copies with the worst behaviour that the PTX ISA allows: the destination is poisoned when a
// copy is issued, and filled only when its completion becomes visible. Code that forgets to wait, or waits
// for too little, reads poison every time, where a GPU would be right most of the time. This is the half with
// group completion (PTX ISA 9.7.9.25.1.1); mbarrier.hpp has the other.
namespace ptxloom::exec {

/// The copies of each thread of a warp, by group. A copy type T has land(), which writes its data.
template <class T>
class AsyncGroups : public State {
 public:
  explicit AsyncGroups(Warp&) {}
  void reset() override {
    copies_.clear();
    committed_.fill(0);
  }
  void issue(int lane, T copy) {
    copies_.push_back({.copy = std::move(copy),
                       .number = issued_++,
                       .group = committed_[static_cast<std::size_t>(lane)],
                       .lane = static_cast<std::uint8_t>(lane)});
  }
  /// Closes the current group of each lane.
  void commit(Mask lanes) {
    for_lanes(lanes, [&](int lane) { ++committed_[static_cast<std::size_t>(lane)]; });
  }
  /// Calls f(copy) for the copies in all but the latest `pending` groups of each lane.
  template <class F>
  void for_covered(Mask lanes, std::uint32_t pending, F f) {
    for (Entry& entry : copies_) {
      if (covered(entry, lanes, pending)) f(entry.copy);
    }
  }
  /// Calls f(copy) for all copies, committed or not.
  template <class F>
  void for_each(F f) {
    for (Entry& entry : copies_) f(entry.copy);
  }
  /// Completes all but the latest `pending` groups of each lane.
  void wait(Mask lanes, std::uint32_t pending) {
    land([&](const Entry& entry) { return covered(entry, lanes, pending); });
  }
  /// The number of copies issued so far, to pass to wait_before.
  std::uint64_t issued() const { return issued_; }
  /// Completes the lane's copies among the first `number`.
  void wait_before(int lane, std::uint64_t number) {
    land([&](const Entry& entry) { return entry.lane == lane && entry.number < number; });
  }
  /// Completes everything, committed or not.
  void wait_all(Mask lanes) {
    land([&](const Entry& entry) { return (lanes & lane_bit(entry.lane)) != 0; });
  }

 private:
  struct Entry {
    T copy;
    std::uint64_t number;
    std::uint32_t group;
    std::uint8_t lane;
  };

  bool covered(const Entry& entry, Mask lanes, std::uint32_t pending) const {
    return (lanes & lane_bit(entry.lane)) != 0 &&
           std::uint64_t{entry.group} + pending < committed_[entry.lane];
  }
  template <class Covered>
  void land(Covered is_covered) {
    const auto left = std::remove_if(copies_.begin(), copies_.end(), [&](Entry& entry) {
      if (!is_covered(entry)) return false;
      entry.copy.land();
      return true;
    });
    copies_.erase(left, copies_.end());
  }

  std::vector<Entry> copies_;  // in order of issue
  std::uint64_t issued_ = 0;
  std::array<std::uint32_t, kLanes> committed_{};  // groups closed, by lane
};

/// cp.async: at most 16 bytes, read when issued.
class SmallCopy {
 public:
  /// `data` beyond `read` bytes is zero.
  SmallCopy(const Actor& actor, std::byte* to, const std::byte* from, std::uint32_t bytes,
            std::uint32_t read);
  void land() const;

 private:
  Actor actor_;
  std::byte* to_;
  const std::byte* from_;
  std::uint32_t bytes_, read_;
  Time issued_ = 0;  // judge/order.hpp
  std::array<std::byte, 16> data_{};
};
using AsyncCopies = AsyncGroups<SmallCopy>;

}  // namespace ptxloom::exec
