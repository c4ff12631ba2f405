// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/host_memory.hpp"
#include "exec/machine/call.hpp"
#include "exec/machine/call_graph.hpp"
#include "exec/machine/code.hpp"
#include "exec/machine/cooperative.hpp"
#include "exec/machine/decoder.hpp"
#include "exec/machine/work.hpp"
#include "ptxloom/error.hpp"
#include "ptxloom/exec.hpp"
#include "ptxloom/ptx.hpp"

namespace ptxloom::exec {
namespace {

// What the judge of a launch that collects findings can do on this machine: a judged thread takes
// microseconds, and judge/global_log.hpp takes about eight times the memory that is accessed.
constexpr double kMostJudged = 1u << 28;  // threads
constexpr std::uint64_t kLogFactor = 8;

void check_judged(const Memory& memory, const Launch& launch) {
  double threads = 1;
  for (const auto& extents : {launch.grid, launch.block})
    for (const std::uint32_t extent : extents) threads *= extent;
  if (threads > kMostJudged) {
    throw Error(
        ErrorKind::usage, "launch-size",
        fmt::format(
            "the launch has {:.0f} threads, and the sanitizer would run for hours: the most is {:.0f}",
            threads, kMostJudged),
        "use a smaller grid: what is wrong mostly shows in a few thread blocks");
  }
  std::uint64_t bytes = 0;
  for (const Memory::Allocation& each : memory.allocations()) bytes += each.bytes;
  if (bytes * kLogFactor <= host_memory_bytes()) return;
  throw Error(
      ErrorKind::usage, "too-large",
      fmt::format(
          "the buffers have {} MiB, and the sanitizer takes {} times that, but this machine has {} MiB of "
          "memory",
          bytes >> 20, kLogFactor, host_memory_bytes() >> 20),
      "use smaller sizes");
}

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
  code_->files = module.files;
  code_->callees = callees_of(module, *kernel);
  find_calls(module, *code_);
  code_->prints = std::ranges::any_of(
      code_->callees, [](const Callee& callee) { return callee.system != nullptr && callee.system->prints; });
  Decoder(module, *code_).decode_kernel();
}

Program::~Program() = default;
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;

void Program::run(Memory& memory, const Launch& launch, Stats* stats) const {
  if (launch.findings != nullptr) check_judged(memory, launch);
  const GridWorkspace workspace(memory, launch);
  const Grid grid(*code_, memory, launch, workspace.address());
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  const bool alone = launch.trace || !launch.schedule.is_fixed() || launch.reversals != nullptr;
  const unsigned jobs = alone ? 1 : launch.jobs != 0 ? launch.jobs : cores;
  if (grid.shadow() == nullptr) memory.count_as_written();
  const Counts counts = run_clusters(grid, jobs, stats != nullptr);
  if (grid.early_reads() != nullptr) grid.early_reads()->report(*launch.findings);
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
