// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "exec/machine/operation.hpp"
#include "exec/machine/state.hpp"

// What setmaxnreg asks for (PTX ISA 9.7.19.5): all warps of a warpgroup execute it, each as often as the
// others, and they synchronise between two of them; and the thread block's warps share the registers that
// they were launched with, so that a request that the others do not make room for waits forever. How many
// registers that is, the kernel says by .maxnreg, or leaves to the assembler by the number of threads and
// thread blocks that an SM has to hold; else setmaxnreg has no effect.
namespace ptxloom::exec {

class Block;
class Warp;

class RegisterLimits final : public State {
 public:
  explicit RegisterLimits(Block& block) : block_(&block) {}
  void reset() override;
  /// The warp executes a setmaxnreg of `registers` for each thread.
  void note(Warp& warp, const Operation& op, std::uint32_t registers);
  void finish() override;

 private:
  static constexpr std::uint32_t kWarps = 4;
  struct Count {
    std::array<int, kWarps> executed{};
    Warp* warp = nullptr;
  };

  void check_row(Warp& warp, const Operation& op);
  void check_warpgroups();
  void check_pool();
  std::uint64_t launched_with() const;

  Block* block_;
  std::map<std::pair<const Operation*, std::uint32_t>, Count> counts_;  // by warpgroup
  std::vector<int> executed_;                                           // by warp: how many of them
  std::vector<std::uint64_t> registers_;          // by warp, of a thread; 0: as launched
  std::pair<Warp*, const Operation*> largest_{};  // the request for the most
  std::uint64_t most_ = 0;
};

}  // namespace ptxloom::exec
