// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "exec/machine/call.hpp"
#include "exec/machine/code.hpp"
#include "exec/machine/decoder.hpp"
#include "exec/machine/work.hpp"
#include "ptxloom/error.hpp"
#include "ptxloom/exec.hpp"
#include "ptxloom/ptx.hpp"

namespace ptxloom::exec {
namespace {

// Global variables of the module are memory of a run like any other, at addresses of their own.
class MappedGlobals {
 public:
  MappedGlobals(Memory& memory, std::vector<GlobalVariable>& variables) : memory_(memory) {
    for (GlobalVariable& variable : variables) {
      addresses_.push_back(memory.map(variable.data.data(), variable.data.size(), variable.name));
    }
  }
  ~MappedGlobals() {
    for (const std::uint64_t address : addresses_) memory_.release(address);
  }
  MappedGlobals(const MappedGlobals&) = delete;
  MappedGlobals& operator=(const MappedGlobals&) = delete;

  void relocate(const std::vector<Relocation>& relocations, std::span<std::byte> registers) const {
    for (const Relocation& relocation : relocations) {
      const std::uint64_t address =
          addresses_[relocation.variable] + static_cast<std::uint64_t>(relocation.addend);
      for (int lane = 0; lane < kLanes; ++lane) {
        Lanes<std::uint64_t>(registers.data(), relocation.slot).set(lane, address);
      }
    }
  }

  void relocate(const std::vector<DataRelocation>& relocations,
                std::vector<GlobalVariable>& variables) const {
    for (const DataRelocation& relocation : relocations) {
      const std::uint64_t address =
          addresses_[relocation.target] + static_cast<std::uint64_t>(relocation.addend);
      std::memcpy(variables[relocation.variable].data.data() + relocation.offset, &address, relocation.bytes);
    }
  }

 private:
  Memory& memory_;
  std::vector<std::uint64_t> addresses_;
};

// An instruction's first operation says how often it ran; any of them may have accessed memory.
void collect(const Code& code, const Counts& counts, Stats& stats) {
  for (std::size_t i = 0; i < code.operations.size(); ++i) {
    const Operation& op = code.operations[i];
    if (!op.begins || counts[i].executed == 0) continue;
    const ir::Function& function = code.function_of(op);
    const ir::Instruction& instruction = function.instructions[op.instruction];
    stats.executed[std::string(instruction.variant.opcode())] += counts[i].executed;
    Count all = counts[i];
    for (std::size_t j = i + 1; j < counts.size() && code.operations[j].continues(op); ++j)
      all.add_traffic(counts[j]);
    stats.instructions.push_back({.text = print(function, instruction),
                                  .line = instruction.line,
                                  .executed = all.executed,
                                  .lanes = all.lanes,
                                  .shared_requests = all.shared.requests,
                                  .shared_passes = all.shared.units,
                                  .shared_needed = all.shared.needed,
                                  .global_requests = all.global.requests,
                                  .global_sectors = all.global.units,
                                  .global_needed = all.global.needed});
  }
}

std::string entries_hint(const ir::Module& module) {
  for (const ir::Kernel& kernel : module.functions)
    if (kernel.entry && kernel.defined) return fmt::format("it has {}", kernel.name);
  return "it has none at all";
}

}  // namespace

Program::Program(const ir::Module& module, std::string_view entry) : code_(std::make_unique<Code>()) {
  const ir::Kernel* kernel = module.find(entry);
  if (kernel == nullptr || !kernel->entry || !kernel->defined) {
    throw Error(ErrorKind::usage, "unknown-kernel", fmt::format("the module has no entry {}", entry),
                entries_hint(module));
  }
  code_->specs = module.specs;
  code_->kernel = *kernel;
  code_->callees = callees_of(module, *kernel);
  Decoder(module, *code_).decode_kernel();
}

Program::~Program() = default;
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;

void Program::run(Memory& memory, const Launch& launch, Stats* stats) const {
  const MappedGlobals globals(memory, code_->globals);
  Grid grid(*code_, memory, launch);
  globals.relocate(code_->relocations, grid.registers());
  globals.relocate(code_->data_relocations, code_->globals);

  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  const unsigned jobs = launch.trace ? 1 : launch.jobs != 0 ? launch.jobs : cores;
  const Counts counts = run_clusters(grid, jobs, stats != nullptr);
  if (stats != nullptr) collect(*code_, counts, *stats);
}

}  // namespace ptxloom::exec
