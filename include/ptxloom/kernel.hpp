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

/// \file
/// A kernel that is loaded in a Context and can be launched, on a GPU or in the executor. For machine code
/// without a Context, launch.hpp has DeviceModule, Function and ConfiguredFunction.
namespace [[gnu::visibility("default")]] ptxloom {

/// Milliseconds that each step of making and loading a kernel took; 0 for a step that was not needed.
struct StepTimes {
  double emit = 0;   ///< the template or the builder, if the library called it
  double check = 0;  ///< checking every instruction against specs and target
  double print = 0;  ///< IR to text
  double parse = 0;  ///< text to IR
  double link = 0;   ///< PTX to machine code, or the cache's answer
  double load = 0;   ///< loading into the driver, or decoding for the executor
};

/// A `.global` or `.const` variable of a kernel's module, which CUDA calls a symbol.
struct KernelVariable {
  std::string name;         ///< its name in the PTX
  bool constant = false;    ///< .const, else .global
  std::uint64_t bytes = 0;  ///< its size
};

/// A loaded kernel, which Context::load makes. It is a handle: copies are the same kernel, and it keeps its
/// module and its device alive. Const members are thread-safe.
class Kernel {
 public:
  const std::string& name() const { return signature().name; }  ///< as in the PTX
  const KernelSignature& signature() const;                     ///< the parameters that a launch gives
  /// On a GPU the target of the machine code, in the executor that of the PTX.
  Target target() const;

  /// The variables that write_variable takes. Each call parses the PTX.
  std::vector<KernelVariable> variables() const;
  /// Sets the bytes of a variable for later launches of this kernel, as cudaMemcpyToSymbol does; no launch
  /// may be in progress. Each kernel that was loaded has its own variables. Throws Error(usage,
  /// "unknown-variable" or "variable-size").
  void write_variable(std::string_view name, std::span<const std::byte> data) const;

  /// Checks the arguments against the signature and queues the launch on a stream; null is the default
  /// stream. In the executor the kernel has run when this returns. There, launches on one stream run one
  /// after the other, and one on the default stream runs alone.
  ///
  /// Throws Error(usage) as Arguments and Function::launch do; Error(device_fault) for a fault, which a GPU
  /// may report at a later call, and for any misuse that the executor finds.
  ///@{
  void launch(CUstream_st* stream, const LaunchConfig& config, std::span<const Argument> arguments) const;
  void launch(CUstream_st* stream, const LaunchConfig& config,
              std::initializer_list<Argument> arguments) const {
    launch(stream, config, std::span(arguments.begin(), arguments.size()));
  }
  ///@}
  /// The same on the default stream, with an observer. On a GPU the observer sees nothing.
  void launch_observed(const LaunchConfig& config, std::span<const Argument> arguments,
                       const exec::Observer& observer) const;

  const std::string& ptx() const;  ///< the text that was linked, or that the executor runs
  /// Machine code; empty in the executor.
  std::span<const std::byte> cubin() const;
  /// Registers, spills and shared memory, as the linker reports them; nullopt in the executor.
  std::optional<Resources> resources() const;
  /// Warnings of the checker and the linker.
  std::span<const Diagnostic> diagnostics() const;
  const StepTimes& times() const;  ///< how long making it took
  bool cached() const;             ///< whether the machine code came from the cache

  struct State;  // src/api/kernel_state.hpp
  /// Context::load calls this.
  explicit Kernel(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  /// Moving copies too, so that a Kernel is never empty.
  ///@{
  Kernel(const Kernel&) = default;
  Kernel& operator=(const Kernel&) = default;
  ///@}

 private:
  friend class PreparedLaunch;
  std::shared_ptr<const State> state_;
};

}  // namespace ptxloom
