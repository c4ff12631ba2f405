// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

#include "ptxloom/buffer.hpp"
#include "ptxloom/ir.hpp"
#include "ptxloom/jit.hpp"
#include "ptxloom/kernel.hpp"
#include "ptxloom/launch.hpp"
#include "ptxloom/log.hpp"
#include "ptxloom/record.hpp"
#include "ptxloom/tensor_map.hpp"

/// \file
/// The entry to the library. A Context is the place where kernels are loaded and run, a GPU or the CPU
/// executor, and Context, Buffer and Kernel are one interface to both. Most programs need only these. The
/// device layer below them, for a GPU and ready machine code, is in launch.hpp.
namespace [[gnu::visibility("default")]] ptxloom {

/// What a Context is made with. Environment variables fill in what is left empty.
struct ContextOptions {
  /// "gpu", "gpu:1" or "cpu". Empty: the first GPU, or the executor, with a warning, if there is no driver or
  /// no GPU.
  std::string device = {};
  /// The target that the executor simulates, and that target() returns there.
  std::string cpu_target = "sm_90a";
  /// Folders of spec overlays, laid over those of PTXLOOM_SPECS (folders, separated by colons).
  std::vector<std::filesystem::path> specs = {};
  std::optional<std::filesystem::path> cache_folder = {};    ///< else Cache::from_environment
  std::optional<std::filesystem::path> records_folder = {};  ///< else Records::from_environment
  std::optional<Log> log = {};                               ///< else Log::from_environment
  LibraryOptions libraries = {};                             ///< where NVIDIA's libraries are looked for
};

/// Milliseconds that making a context took.
struct StartTimes {
  double device = 0;  ///< the driver's start and the device's primary context; 0 in the executor
  double rest = 0;    ///< specs, cache, records
};

/// One GPU, or the CPU executor, with everything that is not part of a kernel: the instruction specs, the
/// device and its target, the linker with its cache, the tuning records, the log. It is a handle: copies
/// share all of it, and what is made from it keeps it alive. Const members are thread-safe. On a GPU it
/// retains the device's primary context, and each call restores the context that was current before.
class Context {
 public:
  /// Throws Error(missing, "no-driver" or "no-device") if a GPU is requested and there is none, Error(usage,
  /// "unknown-device") for a device that does not exist or another name, Error(usage, "unknown-target") for
  /// an unknown `cpu_target`, and what Specs throws for a malformed overlay.
  explicit Context(ContextOptions options = {});
  /// Moving copies too, so that a Context is never empty.
  ///@{
  Context(const Context&) = default;
  Context& operator=(const Context&) = default;
  ///@}

  /// False for the executor.
  bool is_gpu() const;
  /// The GPU's properties. For the executor the name is "CPU executor" and the rest is 0.
  const DeviceInfo& device() const;
  /// The target to make kernels for: the most specific one of the device, or ContextOptions::cpu_target.
  const Target& target() const;

  /// The instruction specs, overlays included.
  const Specs& specs() const;
  /// The same, so that a KernelBuilder or a template is given a context.
  operator std::shared_ptr<const Specs>() const;

  /// Allocates memory, uninitialised as by cudaMalloc. With `fill` every byte has this value: kPoison shows
  /// what a kernel has not written. Throws Error(out_of_memory, "out-of-device-memory").
  Buffer alloc(std::uint64_t bytes, std::optional<std::byte> fill = std::nullopt) const;
  /// Makes memory of the caller accessible to kernels in the executor, so that pointers into it can be kernel
  /// arguments. The caller keeps it alive until it is unregistered. On a GPU, where device pointers need no
  /// registration, both do nothing. Registering throws Error(usage, "bad-memory") for a null pointer or 0
  /// bytes, unregistering Error(usage, "unknown-allocation") for memory that is not registered.
  ///@{
  void register_memory(void* data, std::size_t bytes) const;
  void unregister_memory(void* data) const;
  ///@}
  /// Encodes a tensor map as kernels take it here. Throws Error(usage, "tensor-map").
  EncodedTensorMap encode(const TensorMap& map) const;

  /// Loads the kernel `entry` of a module; it may be empty if the module has one kernel. On a GPU the module
  /// is checked, printed, linked, unless the cache has the result, and loaded into the driver. In the
  /// executor it is checked and decoded. The target in `link` is ignored: it is the context's.
  ///
  /// Throws Error(illegal_ptx) with a diagnostic for each illegal instruction, or with "target-mismatch" for
  /// a module that this device cannot run; Error(usage, "unknown-kernel"); Error(missing, "no-nvjitlink");
  /// what Linker::link and DeviceModule throw; in the executor Error(refused, "exec-unsupported").
  Kernel load(const ir::Module& module, std::string_view entry = {}, LinkOptions link = {}) const;
  /// The same for PTX text. On a GPU the linker alone judges it. In the executor it is checked against the
  /// specs.
  Kernel load(std::string_view ptx, std::string_view entry = {}) const;
  /// The same for text that was printed before, of a kernel with this signature. On a GPU the text is not
  /// parsed.
  Kernel load(std::string_view ptx, const KernelSignature& signature, LinkOptions link = {}) const;

  /// Waits for the work on a stream. nullptr: for all work on the device, not only for the default stream.
  /// Throws Error(device_fault, "device-fault") if a kernel has faulted. In the executor there is nothing to
  /// wait for.
  void synchronize(CUstream_st* stream = nullptr) const;

  /// The parts that it holds.
  ///@{
  const Libraries& libraries() const;
  const Linker& linker() const;
  const Records& records() const;
  const Log& log() const;
  ///@}
  const StartTimes& start_times() const;  ///< how long making it took
  /// The GPU in the device layer (launch.hpp). Throws Error(missing, "no-device") in the executor.
  const DeviceContext& device_context() const;
  /// The same, so that a Stream, an Event or a Graph is made from a context: `Stream stream(context)`.
  operator const DeviceContext&() const { return device_context(); }

  /// One object of each type T, default-constructed at the first call, which lives as long as the context. A
  /// library on top keeps its own state there. The object must not hold a Context, and is shared by all
  /// threads.
  template <typename T>
  T& attached() const {
    return *static_cast<T*>(attached(typeid(T), [] { return std::shared_ptr<void>(std::make_shared<T>()); }));
  }

  struct State;  // src/api/context_state.hpp

 private:
  friend class StreamWorkspaces;
  void* attached(const std::type_info& type, std::shared_ptr<void> (*make)()) const;
  std::shared_ptr<const State> state_;
};

/// The folders that PTXLOOM_SPECS names, in order.
std::vector<std::filesystem::path> spec_folders_from_environment();

}  // namespace ptxloom
