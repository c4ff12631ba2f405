// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "ptxloom/error.hpp"
#include "ptxloom/libraries.hpp"
#include "ptxloom/signature.hpp"
#include "ptxloom/target.hpp"
#include "ptxloom/tensor_map.hpp"

/// \file
/// The device layer: machine code on a GPU. It needs the driver only, and runs a cubin from any source,
/// without specs, linker, cache or executor; the worker process of the tuner uses it. Context, Buffer and
/// Kernel are the interface for most programs: they stand on this layer and also run in the executor. Stream,
/// Event, Graph, LaunchConfig and Argument serve both, and a Context converts to its DeviceContext: `Stream
/// stream(context)`.
///
/// A stream is the driver's own handle (CUstream, cudaStream_t), so those of any library can be given; null
/// is the default stream. Each call makes the device's primary context current and restores the one that was
/// current before. Const members are thread-safe. All functions throw Error(refused, "cuda-error") where the
/// driver fails in a way without a code of its own, and Error(device_fault, "device-fault"), with the kernels
/// that were under way, once a kernel has faulted.
struct CUstream_st;

namespace [[gnu::visibility("default")]] ptxloom {

/// The properties of a device, as the driver gives them.
struct DeviceInfo {
  int ordinal = 0;                 ///< its number, among those that CUDA_VISIBLE_DEVICES leaves
  std::string name{};              ///< "NVIDIA H200"
  int major = 0;                   ///< compute capability, the number before the dot
  int minor = 0;                   ///< compute capability, the number after the dot
  int sms = 0;                     ///< streaming multiprocessors
  int clock_mhz = 0;               ///< highest clock of the SMs
  int memory_clock_mhz = 0;        ///< highest clock of the memory
  int memory_bus_bits = 0;         ///< width of the memory bus
  std::uint64_t memory_bytes = 0;  ///< device memory
  int l2_bytes = 0;                ///< L2 cache
  int shared_per_block = 0;        ///< bytes of shared memory that a thread block can have, with the opt-in
  int threads_per_sm = 0;          ///< resident threads of an SM
  int driver_api = 0;              ///< CUDA version of the driver: 13000
  std::string pci{};               ///< "0000:3b:00.0", independent of CUDA_VISIBLE_DEVICES; empty: not known

  /// The most specific target of the chip. Throws Error(usage, "unknown-target") for a chip that is not in
  /// the specs.
  Target target() const { return target_of_device(major, minor); }
};

/// All devices. Throws Error(missing, "no-driver" or "no-device").
std::vector<DeviceInfo> devices(const Libraries& libraries);

/// The state of a device at this moment, as NVML gives it. Times of a throttled device mean little.
struct DeviceHealth {
  int clock_mhz = 0;          ///< clock of the SMs
  int memory_clock_mhz = 0;   ///< clock of the memory; 0: not known
  int temperature_c = 0;      ///< degrees Celsius; 0: not known
  double power_w = 0;         ///< watts; 0: not known
  bool power_capped = false;  ///< at the power limit, which heavy use of tensor cores reaches
  bool throttled = false;     ///< slowed down by heat or hardware
};

/// One GPU. It retains the device's primary context, which the CUDA runtime and PyTorch use too. It is a
/// handle: copies are the same, and everything made from it keeps it alive.
class DeviceContext {
 public:
  /// Throws Error(missing, "no-driver" or "no-device"); Error(usage, "unknown-device") for an ordinal that
  /// does not exist.
  explicit DeviceContext(Libraries libraries, int ordinal = 0);

  const DeviceInfo& info() const;      ///< its properties
  const Libraries& libraries() const;  ///< the libraries that it uses
  /// Its state at this moment; nullopt if NVML is missing or does not tell.
  std::optional<DeviceHealth> health() const;
  /// Waits for all work on the device, or on a stream.
  ///@{
  void synchronize() const;
  void synchronize(CUstream_st* stream) const;
  ///@}
  /// Whether the stream is captured into a graph.
  bool is_capturing(CUstream_st* stream) const;
  /// A number that no other stream of this process ever has; handles are reused. The default stream has one
  /// number, whatever handle names it.
  std::uint64_t stream_id(CUstream_st* stream) const;
  /// Bytes of device memory: {free, total}.
  std::pair<std::uint64_t, std::uint64_t> memory() const;

  struct State;                                                   // src/launch/context.hpp
  const std::shared_ptr<State>& state() const { return state_; }  ///< for the library's own use

 private:
  std::shared_ptr<State> state_;
};

/// Global memory of a device. It is a handle: the last copy frees the memory. Copies and fills without a
/// stream use the default stream: they wait for a Stream, but not for non-blocking streams of other
/// libraries. Allocating and freeing do not disturb the capture of a graph; freeing waits for the device.
class DeviceMemory {
 public:
  DeviceMemory() = default;  ///< empty: 0 bytes at address 0
  /// Uninitialised memory. Throws Error(out_of_memory, "out-of-device-memory").
  DeviceMemory(const DeviceContext& context, std::uint64_t bytes);

  std::uint64_t address() const;  ///< on the device
  std::uint64_t size() const;     ///< bytes
  /// Copies to or from the bytes from `offset` on, and returns when the copy is done. Throws Error(usage,
  /// "out-of-range").
  ///@{
  void upload(std::span<const std::byte> data, std::uint64_t offset = 0) const;
  void download(std::span<std::byte> data, std::uint64_t offset = 0) const;
  ///@}
  /// Sets every byte, and returns when it is done.
  void fill(std::byte value) const;
  /// Sets every byte, or copies other memory to this one, in stream order. Throws Error(usage,
  /// "out-of-range") if their sizes differ.
  ///@{
  void fill(std::byte value, CUstream_st* stream) const;
  void copy_from(const DeviceMemory& source, CUstream_st* stream) const;
  ///@}

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Sets bytes of device memory, in stream order.
void fill_memory(const DeviceContext& context, std::uint64_t address, std::uint64_t bytes, std::byte value,
                 CUstream_st* stream);

/// The driver's encoding of a tensor map (cuTensorMapEncodeTiled, cuTensorMapEncodeIm2col). Throws
/// Error(usage, "tensor-map").
EncodedTensorMap encode(const DeviceContext& context, const TensorMap& map);

/// A stream, destroyed with its last copy.
class Stream {
 public:
  /// Makes a stream that waits for the default stream, and it for this one. A Context converts to its
  /// DeviceContext.
  explicit Stream(const DeviceContext& context);
  operator CUstream_st*() const;  ///< the driver's handle
  void synchronize() const;       ///< waits for all its work

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// An event, destroyed with its last copy.
class Event {
 public:
  explicit Event(const DeviceContext& context);  ///< makes an event that can be timed
  void record(CUstream_st* stream) const;        ///< marks the work on the stream so far
  void synchronize() const;                      ///< waits for that work
  bool completed() const;                        ///< whether that work is done; does not wait for it
  /// Makes later work of the stream wait for this event.
  void wait_in(CUstream_st* stream) const;
  /// Milliseconds from `start` to this event, after waiting for it.
  float elapsed_ms(const Event& start) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// An executable graph, destroyed with its last copy: launches that are captured once and replayed as a
/// whole.
class Graph {
 public:
  /// Captures what `work` launches on the stream that it is given. Nothing runs yet. Throws what `work`
  /// throws.
  Graph(const DeviceContext& context, const std::function<void(CUstream_st*)>& work);
  void launch(CUstream_st* stream) const;  ///< queues a replay

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// The PTX type of a C++ integer: s32 for int.
template <std::integral T>
constexpr Type integer_type() {
  constexpr Type kSigned[] = {s8, s16, s32, s64};
  constexpr Type kUnsigned[] = {u8, u16, u32, u64};
  return (std::is_signed_v<T> ? kSigned : kUnsigned)[std::bit_width(sizeof(T)) - 1];
}

/// A value for a kernel's parameter. It has a type, so that packing refuses what would be misread: a double
/// for an f32, -1 for a u32, an int for a pointer.
class Argument {
 public:
  /// Implicit, so that a launch reads like a call. A null pointer is allowed.
  ///@{
  template <std::integral T>
  Argument(T value) : Argument(Kind::integer, integer_type<T>(), static_cast<std::uint64_t>(value)) {}
  Argument(float value) : Argument(Kind::typed, f32, std::bit_cast<std::uint32_t>(value)) {}
  Argument(double value) : Argument(Kind::typed, f64, std::bit_cast<std::uint64_t>(value)) {}
  Argument(const DeviceMemory& memory) : Argument(pointer(memory.address())) {}
  Argument(std::nullptr_t) : Argument(pointer(0)) {}
  template <typename T>
  Argument(T* device) : Argument(pointer(reinterpret_cast<std::uintptr_t>(device))) {}
  ///@}

  /// A device pointer, by its address.
  static Argument pointer(std::uint64_t address) { return {Kind::pointer, u64, address}; }
  /// A value by its bits, for types that C++ lacks: `bits(f16, 0x3c00)`. Any integer parameter of its size
  /// takes the bits of an integer as they are: `bits(s32, -5)` for a u32.
  static Argument bits(Type type, std::uint64_t value) { return {Kind::typed, type, value}; }
  /// An array or aggregate. The bytes are read when the launch packs its arguments.
  static Argument bytes(std::span<const std::byte> data);

 private:
  friend class Arguments;
  enum class Kind : std::uint8_t { integer, typed, pointer, bytes };
  Argument(Kind kind, Type type, std::uint64_t value) : kind_(kind), type_(type), value_(value) {}

  Kind kind_;
  Type type_;
  std::uint64_t value_;  // sign-extended
  std::span<const std::byte> bytes_;
};

/// The parameter buffer of one launch: arguments packed by a signature. An integer may differ from the
/// parameter in width and sign if its value fits. Everything else must have the parameter's type, where b32
/// goes with any type of 32 bits.
class Arguments {
 public:
  /// Throws Error(usage, "argument-count", "argument-type", "argument-range" or "argument-size").
  ///@{
  Arguments(const KernelSignature& signature, std::span<const Argument> arguments);
  Arguments(const KernelSignature& signature, std::initializer_list<Argument> arguments)
      : Arguments(signature, std::span(arguments.begin(), arguments.size())) {}
  ///@}

  /// The buffer, laid out as the signature says.
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

/// Three extents, as CUDA's dim3.
struct Dim3 {
  std::uint32_t x = 1;  ///< the fastest
  std::uint32_t y = 1;  ///< the second
  std::uint32_t z = 1;  ///< the slowest
  friend constexpr bool operator==(const Dim3&, const Dim3&) = default;
  /// The product of the three.
  constexpr std::uint64_t count() const { return std::uint64_t{x} * y * z; }
};

/// How a kernel is launched.
struct LaunchConfig {
  Dim3 grid{};                     ///< thread blocks
  Dim3 block{};                    ///< threads
  std::uint32_t shared_bytes = 0;  ///< dynamic shared memory; the opt-in above 48 KiB is automatic
  Dim3 cluster{};                  ///< thread blocks; 1, 1, 1: what the kernel itself declares
  bool programmatic_dependent_launch = false;  ///< it may start before the kernel ahead of it has ended
  bool cooperative = false;                    ///< all thread blocks are resident at once
};

/// The resources of a loaded kernel, as the driver gives them.
struct FunctionInfo {
  int registers = 0;       ///< per thread
  int local_bytes = 0;     ///< local memory per thread: stack and spills
  int shared_bytes = 0;    ///< static shared memory per thread block
  int constant_bytes = 0;  ///< constant memory
  int max_threads = 0;     ///< threads that a thread block can have
  int binary_version = 0;  ///< compute capability of the machine code: 90
};

/// A kernel of a DeviceModule, which it keeps alive. Copies are the same kernel.
class Function {
 public:
  const std::string& name() const { return signature().name; }  ///< as in the cubin
  const KernelSignature& signature() const;                     ///< the parameters that a launch gives
  const FunctionInfo& info() const;                             ///< its resources

  /// Queues a launch. Throws Error(usage, "launch-size", "launch-cluster", "launch-shared" or
  /// "launch-cooperative") for a configuration that the kernel or the device cannot take.
  void launch(CUstream_st* stream, const LaunchConfig& config, const Arguments& arguments) const;
  /// Number of thread blocks that are resident on one SM at once.
  int blocks_per_sm(const LaunchConfig& config) const;
  /// Number of clusters that are resident on the device at once.
  int active_clusters(const LaunchConfig& config) const;

  struct State;  // src/launch/module.hpp

 private:
  friend class DeviceModule;
  friend class ConfiguredFunction;
  std::shared_ptr<State> state_;
};

/// A kernel with a launch configuration that is checked once, to be launched many times. A launch takes
/// little more than the driver's own time.
class ConfiguredFunction {
 public:
  /// Checks the configuration. Throws as Function::launch.
  ConfiguredFunction(Function function, const LaunchConfig& config);
  /// The layout of the buffer that launch() takes.
  const KernelSignature& signature() const;
  /// Queues a launch with a buffer of all parameters (Arguments::bytes). Throws Error(usage, "argument-size"
  /// or "launch-cooperative").
  void launch(CUstream_st* stream, std::span<const std::byte> parameters) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// A cubin that is loaded on a device. Copies are the same module.
class DeviceModule {
 public:
  /// Loads a cubin. Throws Error(link_failure, "load-failed") if the driver refuses it, and Error(missing,
  /// "driver-too-old") if it was linked for a newer driver.
  DeviceModule(const DeviceContext& context, std::span<const std::byte> cubin);

  /// A kernel, by its signature. Throws Error(usage, "unknown-kernel"), and "signature-mismatch" if the
  /// kernel's parameters are not where the signature says.
  Function function(KernelSignature signature) const;
  /// A kernel, by its name. Its parameters are those that the driver knows: each is bytes, without a name.
  Function function(std::string_view name) const;

  /// Sets the bytes of a `.global` or `.const` variable for later launches; no launch may be in progress.
  /// Throws Error(usage, "unknown-variable" or "variable-size").
  void write_variable(std::string_view name, std::span<const std::byte> data) const;

  struct State;  // src/launch/module.hpp

 private:
  std::shared_ptr<State> state_;
};

}  // namespace ptxloom
