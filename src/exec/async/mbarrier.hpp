// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "exec/machine/fault.hpp"

// Barriers in shared memory (PTX ISA 9.7.13.15): a phase is complete when its arrivals have come and the
// bytes it expects have; then the next begins. They are kept beside the memory they lie in, which holds a
// pattern that shows if something else is written there. Copies that a barrier counts behave at their worst:
// what they do happens only when a thread has looked at the barrier in vain, so that the first look at a
// phase that waits for copies always fails.
namespace ptxloom::exec {

class Block;

class Mbarriers {
 public:
  static constexpr std::uint32_t kMostArrivals = (1u << 20) - 1;

  explicit Mbarriers(Block& block) : block_(&block) {}
  void reset() { barriers_.clear(); }
  /// After the last thread: a fault if a copy is still under way.
  void finish() const;

  void init(const Actor& actor, std::uint32_t offset, std::uint32_t count);
  void invalidate(const Actor& actor, std::uint32_t offset);

  struct Arriving {
    std::uint32_t count = 1;
    std::uint32_t expected_bytes = 0;  ///< expected before it arrives
    bool drop = false;                 ///< lowers the count of later phases
    bool may_complete = true;
  };
  /// The state before the arrival, for wait and pending_count.
  std::uint64_t arrive(const Actor& actor, std::uint32_t offset, const Arriving& arriving);
  void expect(const Actor& actor, std::uint32_t offset, std::uint32_t bytes);
  void complete(const Actor& actor, std::uint32_t offset, std::uint32_t bytes);
  /// cp.async.mbarrier.arrive: one more arrival is pending.
  void add_pending(const Actor& actor, std::uint32_t offset);

  /// Lets `happen` be done when a thread has looked at the barrier in vain.
  void when_looked_at(const Actor& actor, std::uint32_t offset, std::function<void()> happen);

  /// Whether the phase of a state, or that of a parity, is complete.
  bool test_state(const Actor& actor, std::uint32_t offset, std::uint64_t state);
  bool test_parity(const Actor& actor, std::uint32_t offset, std::uint32_t parity);
  /// A thread has found that it is not: what was due happens.
  void looked_in_vain(std::uint32_t offset);
  static std::uint32_t pending_of(const Actor& actor, std::uint64_t state);

  /// "phase 3 (parity 1) of the mbarrier at 0x40 lacks 1 of 2 arrivals and 512 bytes", and what else may say
  /// why it is not complete.
  std::string describe(std::uint32_t offset) const;

 private:
  struct Due {
    Actor actor;
    std::function<void()> happen;
  };
  struct Mbarrier {
    std::uint32_t expected = 0, pending = 0;  // arrivals
    std::int32_t bytes = 0;                   // the tx-count
    std::uint32_t phase = 0;
    std::optional<Actor> last;  // of those that arrived
    std::vector<Due> due;

    std::uint64_t pattern() const;
  };
  Mbarrier& at(const Actor& actor, std::uint32_t offset);
  void settle(std::uint32_t offset, Mbarrier& barrier);
  static bool passed(const Actor& actor, const Mbarrier& barrier, bool complete);

  Block* block_;
  std::map<std::uint32_t, Mbarrier> barriers_;  // by offset in shared memory
};

}  // namespace ptxloom::exec
