// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>

#include "exec/block.hpp"
#include "exec/code.hpp"
#include "exec/decoder.hpp"
#include "exec/grid.hpp"
#include "ptxloom/error.hpp"
#include "ptxloom/exec.hpp"

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

 private:
  Memory& memory_;
  std::vector<std::uint64_t> addresses_;
};

// Host threads take blocks in order. The fault of the first block that has one is the result, whatever the
// number of threads: blocks before it are still run, blocks behind it are not begun.
class Run {
 public:
  Run(const Grid& grid, bool count) : grid_(grid), executed_(count ? grid.code().operations.size() : 0) {}

  void work() {
    std::vector<std::uint64_t> executed(executed_.size());
    try {
      Block block(grid_, executed.empty() ? nullptr : executed.data());
      for (std::uint64_t index = next_++; index < end(); index = next_++) run(block, index);
    } catch (...) {
      fail(0, std::current_exception());  // no memory for the block
    }
    const std::scoped_lock lock(mutex_);
    for (std::size_t i = 0; i < executed.size(); ++i) executed_[i] += executed[i];
  }

  /// Throws what a block threw.
  const std::vector<std::uint64_t>& finish() const {
    if (error_) std::rethrow_exception(error_);
    return executed_;
  }

 private:
  std::uint64_t end() const { return std::min(grid_.blocks(), failed_.load()); }

  void run(Block& block, std::uint64_t index) {
    try {
      block.run(index);
    } catch (...) {
      fail(index, std::current_exception());
    }
  }

  void fail(std::uint64_t index, std::exception_ptr error) {
    const std::scoped_lock lock(mutex_);
    if (error_ && index >= failed_) return;
    failed_ = index;
    error_ = std::move(error);
  }

  const Grid& grid_;
  std::atomic<std::uint64_t> next_ = 0;
  std::atomic<std::uint64_t> failed_ = ~std::uint64_t{0};
  std::mutex mutex_;
  std::exception_ptr error_;
  std::vector<std::uint64_t> executed_;
};

void collect(const Code& code, const std::vector<std::uint64_t>& executed, Stats& stats) {
  for (std::size_t i = 0; i < code.operations.size(); ++i) {
    if (executed[i] == 0 || !code.operations[i].begins) continue;
    const ir::Instruction& instruction = code.kernel.instructions[code.operations[i].instruction];
    stats.executed[std::string(instruction.variant.opcode())] += executed[i];
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
  Decoder(module, *code_).decode_kernel();
}

Program::~Program() = default;
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;

void Program::run(Memory& memory, const Launch& launch, Stats* stats) const {
  const MappedGlobals globals(memory, code_->globals);
  Grid grid(*code_, memory, launch);
  globals.relocate(code_->relocations, grid.registers());

  Run run(grid, stats != nullptr);
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  const unsigned wanted = launch.trace ? 1 : launch.jobs != 0 ? launch.jobs : cores;
  const auto jobs = static_cast<unsigned>(std::min<std::uint64_t>(wanted, grid.blocks()));
  {
    std::vector<std::jthread> helpers;
    for (unsigned i = 1; i < jobs; ++i) helpers.emplace_back([&] { run.work(); });
    run.work();
  }
  const std::vector<std::uint64_t>& executed = run.finish();
  if (stats != nullptr) collect(*code_, executed, *stats);
}

}  // namespace ptxloom::exec
