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

#include "ptxloom/findings.hpp"
#include "ptxloom/ir.hpp"

/// \file
/// The CPU executor. It runs a kernel of IR thread by thread, as a GPU would, on memory whose bounds it
/// knows, and stops at the first misuse with the instruction, the thread and the address. The threads of a
/// warp run in lockstep, those with the lowest program counter first, so that diverged paths of structured
/// code reconverge. A Context for the device "cpu" uses it; these classes are for programs that want it
/// alone. docs/executor.md says what it finds.
namespace [[gnu::visibility("default")]] ptxloom {
/// The CPU executor.
namespace exec {

class Turns;  // src/exec/memory/turns.hpp

/// Global memory. Allocations lie at simulated addresses far apart, so that a stray pointer does not hit a
/// neighbour. Thread-safe, except for the bytes themselves: as on a GPU, accesses to the same bytes must be
/// ordered.
class Memory {
 public:
  Memory();  ///< no allocations
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// The simulated address of a new allocation, a multiple of 256, filled with 0xA5. Messages use the name.
  std::uint64_t allocate(std::size_t bytes, std::string name = {});
  /// Makes bytes of the caller accessible at the simulated address that it returns. The caller still owns
  /// them.
  std::uint64_t map(void* data, std::size_t bytes, std::string name = {});
  /// Frees an allocation or a mapping. Its addresses are not used again, so that later accesses are found.
  /// Throws Error(usage, "unknown-allocation").
  void release(std::uint64_t address);
  /// The host's bytes at [address, address + bytes), which then count as written. Throws Error(device_fault,
  /// "out-of-bounds").
  std::byte* at(std::uint64_t address, std::size_t bytes) const;

  /// An allocation or a mapping.
  struct Allocation {
    std::uint64_t address = 0;  ///< simulated
    std::size_t bytes = 0;      ///< its size
    std::byte* data = nullptr;  ///< the host's bytes
    std::string name;           ///< for messages
  };
  /// All that exist, by address; and the last 256 that were released.
  ///@{
  std::vector<Allocation> allocations() const;
  std::vector<Allocation> released() const;
  ///@}
  /// Used by launches whose thread blocks communicate.
  Turns& turns() const;
  /// Used by the judge: for each byte of the allocation at this address the bits that nobody has written;
  /// null if all have been, unless a kernel may make some of them undefined again (`may_discard`).
  std::byte* undefined_bits(std::uint64_t address, bool may_discard = false) const;
  /// A launch has written what the judge did not see: all memory counts as written.
  void count_as_written() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A register whose value an instruction has changed.
struct Change {
  std::string name;                           ///< "%r12"; the halves of 128 bits are "%q0.lo" and "%q0.hi"
  int bits = 32;                              ///< size of the value
  std::uint32_t lanes = 0;                    ///< a bit for each lane whose value has changed
  std::array<std::uint64_t, 32> values = {};  ///< the value in every lane
};

/// A warp has executed an instruction, or faults in it.
struct Step {
  const ir::Kernel& kernel;            ///< the kernel, or the function that it called
  const ir::Instruction& instruction;  ///< the instruction
  std::array<std::uint32_t, 3> block;  ///< thread block: "%ctaid"
  std::uint32_t warp = 0;              ///< in the thread block
  std::uint32_t lanes = 0;             ///< a bit for each lane that takes part; 0 if a guard excludes all
  /// Registers that it changed, except the results of bar.red and wgmma, which come later.
  std::vector<Change> changes = {};
};
/// Called for every step.
using Trace = std::function<void(const Step&)>;

/// What a thread prints with one printf.
struct Printed {
  std::array<std::uint32_t, 3> block;   ///< thread block: "%ctaid"
  std::array<std::uint32_t, 3> thread;  ///< "%tid"
  std::string text;                     ///< formatted
};
/// Called for every printf, in the order of clusters, and for each thread in its order.
using Print = std::function<void(const Printed&)>;

/// Default limit of instructions per warp. An endless loop reaches it within minutes.
inline constexpr std::uint64_t kStepLimit = 1'000'000'000;

/// How a kernel is launched.
struct Launch {
  std::array<std::uint32_t, 3> grid{1, 1, 1};   ///< thread blocks
  std::array<std::uint32_t, 3> block{1, 1, 1};  ///< threads
  std::array<std::uint32_t, 3> cluster{};       ///< thread blocks; all 0: what the kernel requires, else one
  std::uint32_t shared_bytes = 0;               ///< dynamic shared memory of a thread block
  /// All thread blocks run at once and may wait for each other, as grid.sync() of cooperative groups does,
  /// whose barrier is in "%envreg1" and "%envreg2".
  bool cooperative = false;
  std::span<const std::byte> parameters{};  ///< the parameter buffer, laid out as the signature says
  /// Host threads; 0: one per core. Only one is used if thread blocks may communicate through global memory
  /// (atom, red, strong loads and stores). They then take turns in a fixed order.
  unsigned jobs = 0;
  /// Instructions that one warp may execute, against endless loops; 0: no limit.
  std::uint64_t step_limit = kStepLimit;
  /// Whether to look for misuse that may give correct results by chance: data races, missing fences,
  /// undefined values.
  bool judge = true;
  /// Whether the judge also reports where NaN, infinities and underflow begin ("arithmetic-nan" ...).
  bool arithmetic = false;
  /// Collects what is found. The run goes on after a finding where that has a meaning; after other faults the
  /// thread blocks of the cluster stop and the rest runs, or the whole launch ends if thread blocks
  /// communicate. `run` then throws for neither. Null: `run` throws at the first.
  Findings* findings = nullptr;
  /// The order in which warps and clusters run. In a random one turns are short, warps are delayed, and
  /// copies that mbarriers count complete at any time. Only one host thread is used, unless it is the fixed
  /// order.
  Schedule schedule = {};
  /// Collects schedules that reverse what only the schedule ordered. Only one host thread is then used. Needs
  /// `findings`.
  Reversals* reversals = nullptr;
  /// Called for every step. Thread blocks then run one after the other.
  Trace trace = {};
  /// Whether to trace a warp; empty: all are traced.
  std::function<bool(const std::array<std::uint32_t, 3>& block, std::uint32_t warp)> traced = {};
  /// Where threads print to; empty: the standard output.
  Print print = {};
};

/// Counts of one instruction of the kernel, over all warps. A request is one memory access of a warp. Shared
/// memory has 32 banks of 4 bytes: a request takes one pass for every 128 bytes, and more if lanes access
/// different words of one bank. Global memory is accessed in sectors of 32 bytes.
struct InstructionStats {
  std::string text;                   ///< the instruction
  std::uint32_t line = 0;             ///< in the PTX; 0 if it was built
  std::uint64_t executed = 0;         ///< executions by a warp
  std::uint64_t lanes = 0;            ///< threads that took part in all executions
  std::uint64_t shared_requests = 0;  ///< requests to shared memory
  std::uint64_t shared_passes = 0;    ///< passes that they took
  std::uint64_t shared_needed = 0;    ///< passes that they would take without bank conflicts
  std::uint64_t global_requests = 0;  ///< requests to global memory
  std::uint64_t global_sectors = 0;   ///< sectors that they accessed
  std::uint64_t global_needed = 0;    ///< sectors that they would access if their bytes were contiguous
};

/// Counts of a launch.
struct Stats {
  std::map<std::string, std::uint64_t, std::less<>> executed;  ///< executions by a warp, by opcode
  std::vector<InstructionStats> instructions;  ///< those that were executed, in the kernel's order
};

/// What to observe of a launch through Kernel or Runner. The members are those of Launch.
struct Observer {
  Stats* stats = nullptr;                 ///< filled in, unless it is null
  Trace trace = {};                       ///< as Launch::trace
  decltype(Launch::traced) traced = {};   ///< as Launch::traced
  bool judge = true;                      ///< as Launch::judge
  bool arithmetic = false;                ///< as Launch::arithmetic
  Findings* findings = nullptr;           ///< as Launch::findings
  Schedule schedule = {};                 ///< as Launch::schedule
  Reversals* reversals = nullptr;         ///< as Launch::reversals
  std::uint64_t step_limit = kStepLimit;  ///< as Launch::step_limit
  Print print = {};                       ///< as Launch::print
};

struct Code;  // src/exec/machine/code.hpp

/// A kernel that is decoded for execution.
class Program {
 public:
  /// Throws Error(refused, "exec-unsupported"), with the instruction, if the executor has no semantics for
  /// one; Error(usage, "unknown-kernel").
  Program(const ir::Module& module, std::string_view entry);
  ~Program();
  Program(Program&&) noexcept;  ///< the other one can then only be destroyed or assigned to
  Program& operator=(Program&&) noexcept;

  /// Runs the whole grid. Several host threads may run programs in one memory. As on a GPU, the atomic
  /// operations of one launch are atomic to the others. The module's variables are common to all runs of the
  /// program; they have one address and keep their values from run to run.
  ///
  /// Throws Error(device_fault) for a misuse ("out-of-bounds", "misaligned", "barrier-divergence",
  /// "data-race" ...), with the instruction, thread block, thread and address, of the first thread block that
  /// has one; Error(usage, "launch-size", "launch-cluster", "launch-cooperative", "launch-parameters" or
  /// "launch-shared") for a launch that does not fit the kernel.
  void run(Memory& memory, const Launch& launch, Stats* stats = nullptr) const;

  /// Sets the bytes of a `.global` or `.const` variable of the module for later runs; no run may be in
  /// progress. Throws Error(usage, "unknown-variable" or "variable-size").
  void write_variable(std::string_view name, std::span<const std::byte> data) const;

 private:
  std::unique_ptr<Code> code_;
};

}  // namespace exec
}  // namespace ptxloom
