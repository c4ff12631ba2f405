// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxloom/exec.hpp"
#include "ptxloom/jit.hpp"
#include "ptxloom/launch.hpp"
#include "ptxloom/target.hpp"

// A kernel that is loaded, on a GPU or in the executor, and can be launched. It is a handle: copies are the
// same kernel, and it keeps its module and its context's device alive. Const members are thread-safe.
namespace [[gnu::visibility("default")]] ptxloom {

/// How long each step on the way to a loaded kernel took, in milliseconds; 0 for a step that was not needed.
struct StepTimes {
  double emit = 0;   ///< the template or the builder; known where the library called it
  double check = 0;  ///< every instruction against specs and target
  double print = 0;  ///< IR to text
  double parse = 0;  ///< text to IR
  double link = 0;   ///< PTX to machine code, or the cache's answer
  double load = 0;   ///< into the driver, or decoding for the executor
};

/// A .global or .const variable of a kernel's module: what CUDA calls a symbol.
struct KernelVariable {
  std::string name;
  bool constant = false;  ///< .const, else .global
  std::uint64_t bytes = 0;
};

class Kernel {
 public:
  const std::string& name() const { return signature().name; }
  const KernelSignature& signature() const;
  /// What is executed: on a GPU machine code for this target, in the executor PTX that is written for it.
  Target target() const;

  /// The variables that write_variable takes; the PTX is read for it.
  std::vector<KernelVariable> variables() const;
  /// Gives one of them its bytes (cudaMemcpyToSymbol), for this kernel's launches to come; none may be under
  /// way. Each kernel that was loaded has its own. Throws Error(usage, "unknown-variable" | "variable-size").
  void write_variable(std::string_view name, std::span<const std::byte> data) const;

  /// Checks the arguments against the signature and queues the launch; on the executor it has run when this
  /// returns, after what other threads launched on this stream, and on the default stream alone. Throws
  /// Error(usage) as Arguments does, and for a configuration that the kernel cannot take; Error(refused) for
  /// a fault, which the GPU may report at a later call.
  void launch(CUstream_st* stream, const LaunchConfig& config, std::span<const Argument> arguments) const;
  void launch(CUstream_st* stream, const LaunchConfig& config,
              std::initializer_list<Argument> arguments) const {
    launch(stream, config, std::span(arguments.begin(), arguments.size()));
  }
  /// The same on the default stream, observed. Only the executor can be: on a GPU the observer sees nothing.
  void launch_observed(const LaunchConfig& config, std::span<const Argument> arguments,
                       const exec::Observer& observer) const;

  const std::string& ptx() const;
  /// Machine code; empty on the executor.
  std::span<const std::byte> cubin() const;
  /// Registers, spills and shared memory as the linker reports them; nullopt on the executor.
  std::optional<Resources> resources() const;
  /// What the check and the linker remarked.
  std::span<const Diagnostic> diagnostics() const;
  const StepTimes& times() const;
  bool cached() const;  ///< the machine code came from the cache

  struct State;  // src/api/kernel_state.hpp
  explicit Kernel(std::shared_ptr<const State> state) : state_(std::move(state)) {}

 private:
  friend class PreparedLaunch;
  std::shared_ptr<const State> state_;
};

}  // namespace ptxloom
