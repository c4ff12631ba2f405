// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "exec/machine/call.hpp"
#include "exec/machine/code.hpp"
#include "exec/machine/cooperative.hpp"
#include "exec/machine/decoder.hpp"
#include "exec/machine/work.hpp"
#include "ptxloom/error.hpp"
#include "ptxloom/exec.hpp"
#include "ptxloom/ptx.hpp"

namespace ptxloom::exec {
namespace {

// The first operation of an instruction counts its executions; any of its operations may have accessed
// memory.
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
  const GridWorkspace workspace(memory, launch);
  const Grid grid(*code_, memory, launch, workspace.address());
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  const unsigned jobs = launch.trace ? 1 : launch.jobs != 0 ? launch.jobs : cores;
  const Counts counts = run_clusters(grid, jobs, stats != nullptr);
  if (stats != nullptr) collect(*code_, counts, *stats);
}

void Program::write_variable(std::string_view name, std::span<const std::byte> data) const {
  const auto found = std::ranges::find(code_->variables, name, &NamedVariable::name);
  if (found == code_->variables.end()) {
    throw Error(ErrorKind::usage, "unknown-variable", fmt::format("the module has no variable '{}'", name),
                "name one of its .global or .const variables");
  }
  if (found->bytes != data.size()) {
    throw Error(ErrorKind::usage, "variable-size",
                fmt::format("variable {} has {} bytes, but {} are given", name, found->bytes, data.size()),
                "give all of them");
  }
  std::byte* const to =
      found->global ? code_->globals[*found->global].data.data() : code_->constants.data() + found->offset;
  std::ranges::copy(data, to);
}

}  // namespace ptxloom::exec
