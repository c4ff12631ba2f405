// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "exec/machine/lanes.hpp"
#include "exec/machine/operation.hpp"
#include "exec/machine/state.hpp"

// The sixteen barriers of a thread block. Without a thread count a barrier waits for every thread that has
// not exited; with one, for that many arrivals, where an `.aligned` instruction counts a full warp (PTX ISA
// 9.7.13.1).
namespace ptxloom::exec {

class Block;

struct Arrival {
  std::uint32_t barrier = 0;
  std::uint32_t count = 0;  ///< threads expected; 0: the whole thread block
  bool aligned = true;
  bool waits = true;  ///< false for bar.arrive
  Mask votes = 0;     ///< bar.red: lanes whose predicate holds
};

/// The reduction that bar.red applies to the votes.
enum class BarrierReduction : std::uint8_t { popc, all, any };

/// The decoded form of a barrier instruction; the plan of its operation.
struct BarrierPlan {
  int number = 0, count = -1, vote = -1;  // operand indices; -1 if absent
  bool aligned = true;
  bool waits = true;
  std::optional<BarrierReduction> reduction = {};
};

class Barriers final : public State {
 public:
  static constexpr std::uint32_t kCount = 16;

  explicit Barriers(Block& block) : block_(&block) {}
  void reset() override { barriers_ = {}; }
  /// Lanes `mask` of the warp arrive and are parked until all others have arrived. The last arrival releases
  /// them.
  void arrive(Warp& warp, const Operation& op, Mask mask, const Arrival& arrival);
  void exited() override;
  void report(std::vector<Wait>& waits) const override;

  struct Waiter {
    Warp* warp;
    Mask lanes;
    const Operation* op;
  };
  struct Barrier {
    bool used = false;
    std::uint32_t count = 0;
    std::uint32_t arrived = 0;
    std::uint32_t voters = 0;
    std::uint32_t votes = 0;
    std::vector<Waiter> waiting;
    const Operation* last = nullptr;  ///< of the phase before
  };

 private:
  std::string describe(const Barrier& barrier) const;
  bool complete(const Barrier& barrier) const;
  void check_phase(Warp& warp, const Operation& op, Mask mask, const Barrier& barrier) const;
  static const Operation* opener(const Barrier& barrier);
  void open(Barrier& barrier);

  Block* block_;
  std::array<Barrier, kCount> barriers_;
};

}  // namespace ptxloom::exec
