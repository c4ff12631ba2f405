// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "ptxloom/exec.hpp"
#include "ptxloom/jit.hpp"
#include "ptxloom/kernel.hpp"
#include "ptxloom/launch.hpp"
#include "ptxloom/tensor_map.hpp"

// The common interface of GPU and executor. A Machine allocates memory and loads kernels; Context, Buffer and
// Kernel know nothing else of what they run on.
namespace ptxloom::api {

/// An allocation of the machine's memory. The caller checks ranges.
class Block {
 public:
  virtual ~Block() = default;
  virtual std::uint64_t address() const = 0;
  virtual std::uint64_t size() const = 0;
  virtual void write(std::span<const std::byte> data, std::uint64_t offset) = 0;
  virtual void read(std::span<std::byte> data, std::uint64_t offset) const = 0;
  virtual void fill(std::byte value) = 0;
  /// In stream order.
  virtual void fill(std::byte value, CUstream_st* stream) = 0;
};

/// A kernel with a launch configuration that is valid for it.
class Configured {
 public:
  virtual ~Configured() = default;
  /// The layout of the buffer that launch() takes.
  virtual const KernelSignature& signature() const = 0;
  virtual void launch(CUstream_st* stream, std::span<const std::byte> parameters) const = 0;
};

/// A kernel that is ready to run.
class Loaded {
 public:
  virtual ~Loaded() = default;
  /// If the launch cannot be observed, it happens all the same.
  virtual void launch(CUstream_st* stream, const LaunchConfig& config, const KernelSignature& signature,
                      std::span<const Argument> arguments, const exec::Observer& observer) const = 0;
  /// Must not outlive the kernel. Throws Error(usage) for a configuration that is invalid for the kernel; in
  /// the executor, launch() does so instead.
  virtual std::unique_ptr<const Configured> configure(const LaunchConfig& config,
                                                      const KernelSignature& signature) const = 0;
  virtual void write_variable(std::string_view name, std::span<const std::byte> data) const = 0;
};

class Machine {
 public:
  virtual ~Machine() = default;
  virtual const DeviceInfo& info() const = 0;
  virtual const Target& target() const = 0;
  /// The GPU behind it; null in the executor.
  virtual const DeviceContext* device() const = 0;

  virtual std::unique_ptr<Block> allocate(std::uint64_t bytes) const = 0;
  virtual void register_memory(void* data, std::size_t bytes) const = 0;
  virtual void unregister_memory(void* data) const = 0;
  virtual void synchronize(CUstream_st* stream) const = 0;
  virtual bool is_capturing(CUstream_st* stream) const = 0;
  /// Equal for two handles only if they mean the same stream (DeviceContext::stream_id).
  virtual std::uint64_t stream_id(CUstream_st* stream) const = 0;
  virtual EncodedTensorMap encode(const TensorMap& map) const = 0;
  /// Sets memory to zero, in stream order.
  virtual void clear(CUstream_st* stream, std::uint64_t address, std::uint64_t bytes) const = 0;

  /// Turns `state.ptx`, or `module` if the machine runs that, into `state.loaded`, and fills in what becomes
  /// known on the way: machine code, resources, times.
  virtual void load(Kernel::State& state, const ir::Module& module, const Linker& linker) const = 0;
};

std::shared_ptr<Machine> make_gpu(const Libraries& libraries, int ordinal);
std::shared_ptr<Machine> make_executor(const Target& target);

}  // namespace ptxloom::api
