// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "exec/judge/order.hpp"
#include "exec/machine/fault.hpp"
#include "exec/machine/state.hpp"

// Barriers in shared memory (PTX ISA 9.7.13.15): a phase completes when its expected arrivals and bytes have
// come; then the next begins. Their state is kept outside the memory they occupy, which holds a pattern that
// reveals foreign writes. Copies that complete on an mbarrier show their worst behaviour: they take effect
// only after a thread has tested the barrier in vain, so the first test of a phase that waits for copies
// always fails.
namespace ptxloom::exec {

class Block;

class Mbarriers final : public State {
 public:
  static constexpr std::uint32_t kMostArrivals = (1u << 20) - 1;

  explicit Mbarriers(Block& block) : block_(&block) {}
  void reset() override { barriers_.clear(); }
  /// A fault if a copy is still in flight.
  void finish() override;
  void complete_copies(const std::function<bool()>& should_complete) override;

  void init(const Actor& actor, std::uint32_t offset, std::uint32_t count);
  void invalidate(const Actor& actor, std::uint32_t offset);

  struct Arriving {
    std::uint32_t count = 1;
    std::uint32_t expected_bytes = 0;  ///< expected before it arrives
    bool drop = false;                 ///< lowers the expected count of later phases
    bool may_complete = true;
    bool relaxed = false;  ///< it orders no memory accesses
    bool for_cta = false;  ///< its scope is given as the thread block
  };
  /// The state before the arrival, for wait and pending_count.
  std::uint64_t arrive(const Actor& actor, std::uint32_t offset, const Arriving& arriving);
  void expect(const Actor& actor, std::uint32_t offset, std::uint32_t bytes);
  void complete(const Actor& actor, std::uint32_t offset, std::uint32_t bytes);
  /// cp.async.mbarrier.arrive: makes one more arrival pending.
  void add_pending(const Actor& actor, std::uint32_t offset);

  /// Defers `happen` until a thread has tested the barrier and found the phase incomplete.
  void after_failed_test(const Actor& actor, std::uint32_t offset, std::function<void()> happen);

  /// Whether the phase of a state, or of a parity, is complete; `passing`: what the test orders.
  bool test_state(const Actor& actor, std::uint32_t offset, std::uint64_t state, Passing passing);
  bool test_parity(const Actor& actor, std::uint32_t offset, std::uint32_t parity, Passing passing);
  /// Whether something is deferred.
  bool counts_copies(std::uint32_t offset) const { return !barriers_.at(offset).due.empty(); }
  /// A thread has found the phase incomplete: does what was deferred.
  void test_failed(std::uint32_t offset);
  static std::uint32_t pending_of(const Actor& actor, std::uint64_t state);

  /// "phase 3 (parity 1) of the mbarrier at 0x40 lacks 1 of 2 arrivals and 512 bytes", plus any other reason
  /// for it being incomplete.
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
    std::optional<Actor> last;  // of the latest arrival
    std::vector<Due> due;

    std::uint64_t pattern() const;
  };
  Mbarrier& at(const Actor& actor, std::uint32_t offset);
  void settle(std::uint32_t offset, Mbarrier& barrier);
  static bool passed(const Actor& actor, const Mbarrier& barrier, bool complete, Passing passing);
  void judge_arrival(const Actor& actor, const Mbarrier& barrier, const Arriving& arriving) const;

  Block* block_;
  std::map<std::uint32_t, Mbarrier> barriers_;  // by offset in shared memory
};

}  // namespace ptxloom::exec
