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

// Machine code runs on a device. A DeviceContext retains the device's primary context, the one that the CUDA
// runtime and PyTorch use too, and everything made from it keeps it alive. Each call makes it current and
// puts back what was current before. Const methods are thread-safe. A stream is the driver's own handle, so
// any library's will do; nullptr is the default stream.
struct CUstream_st;

namespace [[gnu::visibility("default")]] ptxloom {

struct DeviceInfo {
  int ordinal = 0;
  std::string name{};  ///< "NVIDIA H200"
  int major = 0;       ///< compute capability
  int minor = 0;
  int sms = 0;
  int clock_mhz = 0;         ///< highest clock of the SMs
  int memory_clock_mhz = 0;  ///< highest
  int memory_bus_bits = 0;
  std::uint64_t memory_bytes = 0;
  int l2_bytes = 0;
  int shared_per_block = 0;  ///< bytes, with the opt-in
  int threads_per_sm = 0;
  int driver_api = 0;  ///< CUDA version of the driver: 13000
  std::string pci{};  ///< "0000:3b:00.0", whatever CUDA_VISIBLE_DEVICES makes of the ordinal; empty: not told

  /// The most specific target of the chip; throws Error(usage, "unknown-target") for one not in the specs.
  Target target() const { return target_of_device(major, minor); }
};

/// All devices. Throws Error(missing, "no-driver" or "no-device").
std::vector<DeviceInfo> devices(const Libraries& libraries);

/// What NVML says of a device at this moment: a throttled device cannot be measured.
struct DeviceHealth {
  int clock_mhz = 0;
  int memory_clock_mhz = 0;
  int temperature_c = 0;
  double power_w = 0;
  bool power_capped = false;  ///< at the power limit, as heavy work on matrix units is
  bool throttled = false;     ///< slowed down by heat or hardware
};

class DeviceContext {
 public:
  /// Throws Error(usage, "unknown-device") that lists the devices there are.
  explicit DeviceContext(Libraries libraries, int ordinal = 0);

  const DeviceInfo& info() const;
  const Libraries& libraries() const;
  /// nullopt where NVML is missing or does not know.
  std::optional<DeviceHealth> health() const;
  /// Waits for all work. Throws Error(refused, "device-fault") that names the kernels under way.
  void synchronize() const;
  void synchronize(CUstream_st* stream) const;
  /// Whether what is queued on the stream goes into a graph.
  bool is_capturing(CUstream_st* stream) const;
  /// A number that no other stream of this process ever has, though a handle may come again once its stream
  /// is destroyed. That of the default stream, by whatever handle, is one.
  std::uint64_t stream_id(CUstream_st* stream) const;
  /// Bytes {free, total} of device memory.
  std::pair<std::uint64_t, std::uint64_t> memory() const;

  struct State;  // src/launch/context.hpp
  const std::shared_ptr<State>& state() const { return state_; }

 private:
  std::shared_ptr<State> state_;
};

/// Global memory of a device. Copies and fills without a stream go through the default stream: they wait for
/// streams made here, but not for another library's that are non-blocking. Making and freeing memory disturbs
/// no capture of a graph; freeing waits for the device.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  /// Uninitialised. Throws Error(refused, "out-of-device-memory").
  DeviceMemory(const DeviceContext& context, std::uint64_t bytes);

  std::uint64_t address() const;
  std::uint64_t size() const;  ///< bytes
  /// Copies wait until the data is there; a range outside the memory is Error(usage, "out-of-range").
  void upload(std::span<const std::byte> data, std::uint64_t offset = 0) const;
  void download(std::span<std::byte> data, std::uint64_t offset = 0) const;
  void fill(std::byte value) const;
  /// In the order of the stream.
  void fill(std::byte value, CUstream_st* stream) const;
  void copy_from(const DeviceMemory& source, CUstream_st* stream) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// A tensor map as the device reads it, by the driver (cuTensorMapEncodeTiled, cuTensorMapEncodeIm2col).
/// Throws Error(usage, "tensor-map").
EncodedTensorMap encode(const DeviceContext& context, const TensorMap& map);

/// A queue of work.
class Stream {
 public:
  explicit Stream(const DeviceContext& context);
  operator CUstream_st*() const;
  void synchronize() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// A mark in a stream, to wait for and to time by.
class Event {
 public:
  explicit Event(const DeviceContext& context);
  void record(CUstream_st* stream) const;
  void synchronize() const;
  /// Makes later work of the stream wait for this event.
  void wait_in(CUstream_st* stream) const;
  /// Milliseconds from `start` to this event, after waiting for it.
  float elapsed_ms(const Event& start) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Launches recorded once and replayed as a whole.
class Graph {
 public:
  /// Records what `work` does on the stream it is given; nothing runs yet.
  Graph(const DeviceContext& context, const std::function<void(CUstream_st*)>& work);
  void launch(CUstream_st* stream) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// The PTX type of a C++ integer.
template <std::integral T>
constexpr Type integer_type() {
  constexpr Type kSigned[] = {s8, s16, s32, s64};
  constexpr Type kUnsigned[] = {u8, u16, u32, u64};
  return (std::is_signed_v<T> ? kSigned : kUnsigned)[std::bit_width(sizeof(T)) - 1];
}

/// One value for a kernel's parameter. It remembers its type, so that packing can refuse what would be
/// misread: a double for an f32, -1 for a u32, an int for a pointer. The constructors are implicit for a
/// launch to read as a call.
class Argument {
 public:
  template <std::integral T>
  Argument(T value) : Argument(Kind::integer, integer_type<T>(), static_cast<std::uint64_t>(value)) {}
  Argument(float value) : Argument(Kind::typed, f32, std::bit_cast<std::uint32_t>(value)) {}
  Argument(double value) : Argument(Kind::typed, f64, std::bit_cast<std::uint64_t>(value)) {}
  Argument(const DeviceMemory& memory) : Argument(pointer(memory.address())) {}
  Argument(std::nullptr_t) : Argument(pointer(0)) {}
  template <typename T>
  Argument(T* device) : Argument(pointer(reinterpret_cast<std::uintptr_t>(device))) {}

  static Argument pointer(std::uint64_t address) { return {Kind::pointer, u64, address}; }
  /// A value by its bits, for types that C++ lacks: bits(f16, 0x3c00). Those of an integer are taken as they
  /// are by any integer of its size: bits(s32, -5) for a u32.
  static Argument bits(Type type, std::uint64_t value) { return {Kind::typed, type, value}; }
  /// An array or aggregate. The bytes must outlive the packing.
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

/// The parameter buffer of one launch: arguments packed by a signature. Integers may differ from the
/// parameter in width and sign as long as the value fits; everything else must be of the parameter's type,
/// where b32 takes any type of 32 bits, and any type of 32 bits takes b32. Throws Error(usage):
/// "argument-count", "argument-type", "argument-range", "argument-size".
class Arguments {
 public:
  Arguments(const KernelSignature& signature, std::span<const Argument> arguments);
  Arguments(const KernelSignature& signature, std::initializer_list<Argument> arguments)
      : Arguments(signature, std::span(arguments.begin(), arguments.size())) {}

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

struct Dim3 {
  std::uint32_t x = 1;
  std::uint32_t y = 1;
  std::uint32_t z = 1;
  friend constexpr bool operator==(const Dim3&, const Dim3&) = default;
  constexpr std::uint64_t count() const { return std::uint64_t{x} * y * z; }
};

struct LaunchConfig {
  Dim3 grid{};                                 ///< blocks
  Dim3 block{};                                ///< threads
  std::uint32_t shared_bytes = 0;              ///< dynamic shared memory; above 48 KB the kernel is opted in
  Dim3 cluster{};                              ///< blocks; 1, 1, 1: what the kernel itself declares
  bool programmatic_dependent_launch = false;  ///< may start before the kernel ahead of it has ended
  bool cooperative = false;                    ///< all blocks resident at once
};

struct FunctionInfo {
  int registers = 0;     ///< a thread
  int local_bytes = 0;   ///< a thread: stack and spills
  int shared_bytes = 0;  ///< static, a block
  int constant_bytes = 0;
  int max_threads = 0;     ///< a block
  int binary_version = 0;  ///< 90
};

/// A kernel that is loaded. Keeps its module alive.
class Function {
 public:
  const std::string& name() const { return signature().name; }
  const KernelSignature& signature() const;
  const FunctionInfo& info() const;

  /// Returns once the launch is queued. Throws Error(usage, "launch-size" | "launch-cluster" |
  /// "launch-shared" | "launch-cooperative") for a configuration that the kernel or the device cannot take.
  void launch(CUstream_st* stream, const LaunchConfig& config, const Arguments& arguments) const;
  /// Blocks that fit on one SM at once.
  int blocks_per_sm(const LaunchConfig& config) const;
  /// Clusters that fit on the device at once.
  int active_clusters(const LaunchConfig& config) const;

  struct State;  // src/launch/module.hpp

 private:
  friend class DeviceModule;
  friend class ConfiguredFunction;
  std::shared_ptr<State> state_;
};

/// A kernel with a launch configuration that was checked once, to be launched many times. A launch costs the
/// driver's own time and little more. Const members are thread-safe.
class ConfiguredFunction {
 public:
  /// Throws as Function::launch does.
  ConfiguredFunction(Function function, const LaunchConfig& config);
  /// The parameters as they lie in the buffer that launch() takes.
  const KernelSignature& signature() const;
  /// Queues the kernel with a buffer of all its parameters (Arguments::bytes). Throws Error(usage,
  /// "argument-size" | "launch-cooperative").
  void launch(CUstream_st* stream, std::span<const std::byte> parameters) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// A cubin on a device.
class DeviceModule {
 public:
  /// Throws Error(refused, "load-failed"), or Error(missing, "driver-too-old").
  DeviceModule(const DeviceContext& context, std::span<const std::byte> cubin);

  /// Throws Error(usage, "unknown-kernel"), or "signature-mismatch" where the kernel's parameters lie
  /// elsewhere than the signature says.
  Function function(KernelSignature signature) const;
  /// With the parameters as the driver sees them: without names, each as bytes.
  Function function(std::string_view name) const;

  /// Gives a .global or .const variable its bytes, for the launches to come; none may be under way. Throws
  /// Error(usage, "unknown-variable" | "variable-size").
  void write_variable(std::string_view name, std::span<const std::byte> data) const;

  struct State;  // src/launch/module.hpp

 private:
  std::shared_ptr<State> state_;
};

}  // namespace ptxloom
