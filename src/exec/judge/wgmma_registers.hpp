// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "exec/judge/data_flow.hpp"

// Registers that wgmma.mma_async accumulates in, or reads A from. From its issue to the wgmma.wait_group that
// covers its group, no other instruction may access them; and after accesses by other instructions, as before
// the very first wgmma, a wgmma.fence must come first (PTX ISA, wgmma.mma_async and wgmma.fence). Only wgmma
// of one shape are ordered among themselves.
namespace ptxloom::exec {

class WgmmaRegisters {
 public:
  void start(std::size_t warps) { warps_.assign(warps, {}); }
  /// Lanes of warp number `warp` execute an instruction that accesses such registers.
  void execute(Warp& warp, std::size_t number, const Operation& op, const DataFlow& flow, Mask lanes);

  void fence(std::size_t warp) { ++warps_[warp].fences; }
  void commit(std::size_t warp) { ++warps_[warp].committed; }
  /// All but the latest `pending` groups are done.
  void wait(std::size_t warp, std::uint32_t pending);

 private:
  struct Use {
    const Operation* touched = nullptr;  // by an instruction other than wgmma, since the last fence
    bool placed_late = false;            // in that case: it counts for A only
    std::uint32_t fences = 0;            // at that time
    const Operation* flight = nullptr;   // the wgmma that still uses it
    std::uint32_t group = 0;             // of that wgmma
    std::uint32_t flight_fences = 0;     // when it was issued
  };
  struct State {
    std::uint32_t fences = 0, committed = 0;
    std::unordered_map<std::uint32_t, Use> uses;  // by the register's offset
  };

  /// Compilers place moves of constants and of finished values to accumulators behind the fence that the
  /// source has after them: a move that a fence separates from the last wgmma on the register needs no other.
  static bool is_placed_late(const State& state, const Use& use, const DataFlow& flow) {
    return flow.moves && use.flight_fences != state.fences;
  }
  static void multiply(Warp& warp, State& state, const Operation& op, const DataFlow& flow,
                       const FlowPiece& piece, Mask lanes);
  static void access(Warp& warp, State& state, const Operation& op, const DataFlow& flow,
                     const FlowPiece& piece, Mask lanes);

  std::vector<State> warps_;
};

}  // namespace ptxloom::exec
