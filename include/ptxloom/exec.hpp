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

class Turns;  // src/exec/memory/turns.hpp

/// Global memory: allocations at simulated addresses far apart, so that a stray pointer hits no neighbour.
/// Thread-safe; the bytes themselves are as on a GPU, where who reads and who writes must be in order.
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
  /// For launches whose blocks communicate.
  Turns& turns() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A register that an instruction gave another value.
struct Change {
  std::string name;  ///< "%r12"; of 128 bits: "%q0.lo" and "%q0.hi"
  int bits = 32;
  std::uint32_t lanes = 0;                    ///< where its value is new
  std::array<std::uint64_t, 32> values = {};  ///< in every lane
};

/// A warp has executed an instruction, or is at fault in it.
struct Step {
  const ir::Kernel& kernel;
  const ir::Instruction& instruction;
  std::array<std::uint32_t, 3> block;
  std::uint32_t warp = 0;
  std::uint32_t lanes = 0;  ///< a bit for each thread that takes part; 0 where a guard lets none through
  std::vector<Change> changes = {};  ///< not of what comes later: results of bar.red and of wgmma
};
using Trace = std::function<void(const Step&)>;

/// What a warp may do by default, in instructions: a kernel that loops for ever ends after some minutes.
inline constexpr std::uint64_t kStepLimit = 1'000'000'000;

struct Launch {
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::array<std::uint32_t, 3> block{1, 1, 1};
  std::array<std::uint32_t, 3> cluster{};  ///< in blocks; all 0 = what the kernel requires, else one block
  std::uint32_t shared_bytes = 0;          ///< dynamic
  /// All blocks run at once and may wait for each other, as grid.sync() of cooperative groups does, which
  /// finds its barrier in %envreg1 and %envreg2.
  bool cooperative = false;
  std::span<const std::byte> parameters{};  ///< the parameter buffer, laid out as the signature says
  /// Host threads; 0 = one a core. One is used where the kernel's blocks may communicate through global
  /// memory (atom, red, strong loads and stores): they then take turns in a fixed order.
  unsigned jobs = 0;
  /// Instructions of one warp, against endless loops; 0 = no limit.
  std::uint64_t step_limit = kStepLimit;
  /// Look for misuse that may give right results by luck: data races, missing fences, undefined values.
  bool judge = true;
  /// Called for every step. Blocks then run one after the other.
  Trace trace = {};
  /// Whether to trace a warp; empty: all.
  std::function<bool(const std::array<std::uint32_t, 3>& block, std::uint32_t warp)> traced = {};
};

/// What an instruction of the kernel did in all warps. A request is one access to memory of a warp. Shared
/// memory has 32 banks of four bytes: a request takes one pass for every 128 bytes of it, and more where
/// lanes want different words of one bank. Global memory is read and written by sectors of 32 bytes.
struct InstructionStats {
  std::string text;
  std::uint32_t line = 0;      ///< of the PTX; 0 if built
  std::uint64_t executed = 0;  ///< by warps
  std::uint64_t lanes = 0;     ///< threads that took part, of all executions
  std::uint64_t shared_requests = 0, shared_passes = 0, shared_needed = 0;   ///< the last: without conflicts
  std::uint64_t global_requests = 0, global_sectors = 0, global_needed = 0;  ///< the last: if packed densely
};

struct Stats {
  std::map<std::string, std::uint64_t, std::less<>> executed;  ///< warp-instructions by opcode
  std::vector<InstructionStats> instructions;                  ///< in the kernel's order; those that ran
};

/// What to see of a launch through the API, which makes the rest of `Launch` itself.
struct Observer {
  Stats* stats = nullptr;
  Trace trace = {};
  decltype(Launch::traced) traced = {};
  bool judge = true;
  std::uint64_t step_limit = kStepLimit;
};

struct Code;  // src/exec/machine/code.hpp

/// A kernel decoded for running. Throws Error(refused, "exec-unsupported") that names the instruction where
/// the executor has no semantics for one.
class Program {
 public:
  Program(const ir::Module& module, std::string_view entry);
  ~Program();
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;

  /// Runs the whole grid. Several host threads may run one program, or several, in one memory: as on a GPU,
  /// atomic operations of one launch are atomic to the others, and the module's variables are common to all
  /// runs of the program, have the same address in each, and keep what a run left in them. A misuse throws
  /// Error(refused, "out-of-bounds" | "misaligned" | "barrier-divergence" | ...) naming instruction, block,
  /// thread and address, of the first block that has one. A launch that does not fit the kernel throws
  /// Error(usage, "launch-size" | "launch-cluster" | "launch-cooperative" | "launch-parameters" |
  /// "launch-shared").
  void run(Memory& memory, const Launch& launch, Stats* stats = nullptr) const;

  /// Gives a .global or .const variable of the module its bytes, for the launches to come; none may be under
  /// way. Throws Error(usage, "unknown-variable" | "variable-size").
  void write_variable(std::string_view name, std::span<const std::byte> data) const;

 private:
  std::unique_ptr<Code> code_;
};

}  // namespace exec
}  // namespace ptxloom
