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

// Where kernels are loaded and run: one GPU, or the CPU executor where there is none. A Context carries
// everything that is not a kernel's own: the instruction specs, the device and its target, the linker with
// its cache, the tuning records, the log. It is a handle that can be copied; what is made from it keeps it
// alive. Const members are thread-safe. On a GPU it retains the primary context, and each call puts back what
// was current before.
//
// Environment, where the options leave something open: PTXLOOM_SPECS (folders of spec overlays, separated by
// colons), PTXLOOM_CACHE_DIR, PTXLOOM_RECORDS, PTXLOOM_LOG.
namespace [[gnu::visibility("default")]] ptxloom {

struct ContextOptions {
  /// "gpu", "gpu:1", "cpu"; empty: the first GPU where there is one, else "cpu".
  std::string device = {};
  /// What the executor stands for, and what `target()` says there.
  std::string cpu_target = "sm_90a";
  /// Folders of spec overlays, laid over those of PTXLOOM_SPECS.
  std::vector<std::filesystem::path> specs = {};
  std::optional<std::filesystem::path> cache_folder = {};
  std::optional<std::filesystem::path> records_folder = {};
  std::optional<Log> log = {};
  LibraryOptions libraries = {};
};

/// How long making a context took, in milliseconds.
struct StartTimes {
  double device = 0;  ///< the driver's own start and the device's primary context; 0 on the executor
  double rest = 0;    ///< specs, cache, records
};

class Context {
 public:
  /// Throws Error(missing, "no-driver") where a GPU is asked for and there is none, Error(usage,
  /// "unknown-device") for another name, and what reading the overlays throws.
  explicit Context(ContextOptions options = {});

  bool is_gpu() const;
  /// The GPU; on the executor its name is "CPU executor" and the rest is 0.
  const DeviceInfo& device() const;
  /// What kernels should be made for here: the most specific target of the device.
  const Target& target() const;

  const Specs& specs() const;
  /// So that a KernelBuilder and a template can be given a context.
  operator std::shared_ptr<const Specs>() const;

  /// Uninitialised, as cudaMalloc leaves it; `fill`: every byte has this value, such as kPoison, so that what
  /// a kernel forgot to write shows.
  Buffer alloc(std::uint64_t bytes, std::optional<std::byte> fill = std::nullopt) const;
  /// Makes the caller's memory reachable for kernels in the executor: from now on a pointer into it may stand
  /// among a kernel's arguments. On a GPU, whose own pointers need no such thing, it does nothing. The caller
  /// keeps the memory alive until unregister_memory.
  void register_memory(void* data, std::size_t bytes) const;
  void unregister_memory(void* data) const;
  /// What a kernel here takes for a tensor map. Throws Error(usage, "tensor-map").
  EncodedTensorMap encode(const TensorMap& map) const;

  /// Checks, prints, links (or finds in the cache) and loads a kernel; `entry` may be left out where there is
  /// one. In the executor: checks and decodes. Throws Error(refused) with all diagnostics of what is illegal,
  /// or with "target-mismatch"; Error(missing, "no-nvjitlink"); what linking and loading throw.
  /// The target of `link` is the context's, whatever it says.
  Kernel load(const ir::Module& module, std::string_view entry = {}, LinkOptions link = {}) const;
  /// The same for PTX text. On a GPU the linker alone judges it; in the executor it must be within the specs.
  Kernel load(std::string_view ptx, std::string_view entry = {}) const;
  /// The same for text that was printed before, of a kernel with this signature: on a GPU it is not even
  /// read.
  Kernel load(std::string_view ptx, const KernelSignature& signature, LinkOptions link = {}) const;

  /// Waits for all work; throws Error(refused, "device-fault").
  void synchronize(CUstream_st* stream = nullptr) const;

  const Libraries& libraries() const;
  const Linker& linker() const;
  const Records& records() const;
  const Log& log() const;
  const StartTimes& start_times() const;
  /// The GPU behind it, for streams, events and graphs. Throws Error(missing, "no-device") on the executor.
  const DeviceContext& device_context() const;
  /// The same, so that a Stream, an Event or a Graph is made from a context: `Stream stream(context)`.
  operator const DeviceContext&() const { return device_context(); }

  /// One object of each type, made when it is first asked for, which lives as long as the context: what a
  /// library on top remembers of it. The object must not hold a Context.
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

/// The folders named by PTXLOOM_SPECS.
std::vector<std::filesystem::path> spec_folders_from_environment();

}  // namespace ptxloom
