// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ptxloom/ir.hpp"

// The CPU executor: runs a kernel of IR on memory that it knows the bounds of, thread for thread as the GPU
// would, and stops at the first misuse with the instruction, the thread and the address. Threads of a warp go
// in lockstep, lowest program counter first, so that diverged paths meet again where structured code joins.
namespace [[gnu::visibility("default")]] ptxloom {
namespace exec {

/// Global memory: allocations at simulated addresses far apart, so that a stray pointer hits no neighbour.
class Memory {
 public:
  Memory();
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// A new allocation, poisoned with 0xA5, aligned to 256 bytes. The name is for messages.
  std::uint64_t allocate(std::size_t bytes, std::string name = {});
  /// Makes the caller's own bytes reachable (not owned) at a simulated address.
  std::uint64_t map(void* data, std::size_t bytes, std::string name = {});
  /// Throws Error(usage, "unknown-allocation"). The address is not used again: who still does is found out.
  void release(std::uint64_t address);
  /// The host bytes behind [address, address + bytes); throws Error(refused, "out-of-bounds").
  std::byte* at(std::uint64_t address, std::size_t bytes) const;

  struct Allocation {
    std::uint64_t address = 0;
    std::size_t bytes = 0;
    std::byte* data = nullptr;
    std::string name;
  };
  /// What there is, by address, and what was released lately.
  std::vector<Allocation> allocations() const;
  std::vector<Allocation> released() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A warp about to execute an instruction.
struct Step {
  const ir::Kernel& kernel;
  const ir::Instruction& instruction;
  std::array<std::uint32_t, 3> block;
  std::uint32_t warp = 0;
  std::uint32_t lanes = 0;  ///< a bit for each thread that takes part; 0 where a guard lets none through
};
using Trace = std::function<void(const Step&)>;

struct Launch {
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::array<std::uint32_t, 3> block{1, 1, 1};
  std::array<std::uint32_t, 3> cluster{};   ///< in blocks; all 0 = what the kernel requires, else one block
  std::uint32_t shared_bytes = 0;           ///< dynamic
  std::span<const std::byte> parameters{};  ///< the parameter buffer, laid out as the signature says
  /// Host threads; 0 = one a core. One is used where the kernel's blocks may communicate through global
  /// memory (atom, red, strong loads and stores): they then take turns in a fixed order.
  unsigned jobs = 0;
  /// Instructions of one warp, against endless loops; 0 = no limit.
  std::uint64_t step_limit = 1'000'000'000;
  /// Called for every step. Blocks then run one after the other.
  Trace trace = {};
};

struct Stats {
  std::map<std::string, std::uint64_t, std::less<>> executed;  ///< warp-instructions by opcode
};

/// What to see of a launch through the API, which makes the rest of `Launch` itself.
struct Observer {
  Stats* stats = nullptr;
  Trace trace = {};
};

struct Code;  // src/exec/code.hpp

/// A kernel decoded for running. Throws Error(refused, "exec-unsupported") that names the instruction where
/// the executor has no semantics for one.
class Program {
 public:
  Program(const ir::Module& module, std::string_view entry);
  ~Program();
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;

  /// Runs the whole grid. A misuse throws Error(refused, "out-of-bounds" | "misaligned" |
  /// "barrier-divergence" | ...) naming instruction, block, thread and address, of the first block that has
  /// one. A launch that does not fit the kernel throws Error(usage, "launch-size" | "launch-cluster" |
  /// "launch-parameters" | "launch-shared").
  void run(Memory& memory, const Launch& launch, Stats* stats = nullptr) const;

 private:
  std::unique_ptr<Code> code_;
};

}  // namespace exec
}  // namespace ptxloom
