// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "exec/machine/lanes.hpp"
#include "exec/machine/operation.hpp"
#include "exec/machine/state.hpp"
#include "exec/machine/warp.hpp"

// Four warps that execute wgmma together (PTX ISA 9.7.15.1), and the registers that their multiplications
// will still write. It behaves as badly as the PTX ISA allows: from the issue of a wgmma.mma_async to the
// wait that covers its group, its D is poison to everything except further wgmma.mma_async. That its operands
// in shared memory must not change until then is for the judge: judge/wgmma_operands.hpp.
namespace ptxloom::exec {

class Block;

/// The accumulators of one warp that are in flight.
class Accumulators {
 public:
  void clear();
  /// Restores the true value of those of `slots` that are in flight.
  void surface(std::byte* file, std::span<const Slot> slots) const;
  /// Puts the registers in flight as part of the open group, and poisons them. Appends where their true
  /// values lie.
  void submerge(std::byte* file, std::span<const Slot> slots, std::vector<std::uint32_t*>& values);
  /// Closes the group.
  void commit() { ++committed_; }
  std::uint32_t open_group() const { return committed_; }
  /// Ends the flight of the registers of all but the latest `pending` groups.
  void wait(std::byte* file, std::uint32_t pending);

 private:
  struct Flight {
    std::uint32_t group = 0;  // the latest that writes it
    std::array<std::uint32_t, kLanes> value{};
  };
  std::map<std::uint32_t, Flight> flights_;  // by the register's offset
  std::uint32_t committed_ = 0;
};

class Warpgroups final : public State {
 public:
  static constexpr std::size_t kWarps = 4;
  using Warps = std::array<Warp*, kWarps>;

  explicit Warpgroups(Block& block) : block_(&block) {}
  void reset() override;
  void report(std::vector<Wait>& waits) const override;
  /// The warp waits until all four warps of its warpgroup have arrived; then `run` executes the instruction
  /// for them.
  void arrive(Warp& warp, const Operation& op, void (*run)(const Warps& warps, const Operation& op));
  Accumulators& accumulators(const Warp& warp) { return accumulators_[warp.index()]; }

 private:
  Block* block_;
  std::vector<std::vector<const Operation*>> arrived_;  // by warpgroup and warp in it; null: not arrived
  std::vector<Accumulators> accumulators_;              // by warp
};

}  // namespace ptxloom::exec
