// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>

#include "api/kernel_state.hpp"
#include "api/machine.hpp"
#include "api/stopwatch.hpp"
#include "api/stream_order.hpp"

namespace ptxloom::api {
namespace {

/// The executor's memory, and the mapping from the caller's pointers to it.
class HostMemory {
 public:
  exec::Memory& memory() { return memory_; }

  void add(void* data, std::size_t bytes) {
    const std::scoped_lock lock(mutex_);
    const auto host = reinterpret_cast<std::uintptr_t>(data);
    const auto [range, is_new] = ranges_.try_emplace(host);
    if (!is_new) memory_.release(range->second.address);
    range->second = {.bytes = bytes, .address = memory_.map(data, bytes)};
  }

  void remove(void* data) {
    const std::scoped_lock lock(mutex_);
    const auto range = ranges_.find(reinterpret_cast<std::uintptr_t>(data));
    if (range == ranges_.end()) {
      throw Error(ErrorKind::usage, "unknown-allocation", "this memory was never registered",
                  "pass the pointer that was passed to register_memory");
    }
    memory_.release(range->second.address);
    ranges_.erase(range);
  }

  /// The simulated address of a registered pointer; any other value is unchanged.
  std::uint64_t translate(std::uint64_t value) const {
    const std::scoped_lock lock(mutex_);
    const auto after = ranges_.upper_bound(value);
    if (after == ranges_.begin()) return value;
    const auto& [host, range] = *std::prev(after);
    return value - host < range.bytes ? range.address + (value - host) : value;
  }

 private:
  struct Range {
    std::size_t bytes = 0;
    std::uint64_t address = 0;
  };
  exec::Memory memory_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, Range> ranges_;
};

class HostBlock : public Block {
 public:
  HostBlock(std::shared_ptr<HostMemory> memory, std::uint64_t bytes)
      : memory_(std::move(memory)), bytes_(bytes), address_(memory_->memory().allocate(bytes)) {}
  ~HostBlock() override { memory_->memory().release(address_); }
  HostBlock(const HostBlock&) = delete;
  HostBlock& operator=(const HostBlock&) = delete;

  std::uint64_t address() const override { return address_; }
  std::uint64_t size() const override { return bytes_; }
  void write(std::span<const std::byte> data, std::uint64_t offset) override {
    if (!data.empty()) std::memcpy(at(offset, data.size()), data.data(), data.size());
  }
  void read(std::span<std::byte> data, std::uint64_t offset) const override {
    if (!data.empty()) std::memcpy(data.data(), at(offset, data.size()), data.size());
  }
  void fill(std::byte value) override {
    if (bytes_ != 0) std::memset(at(0, bytes_), std::to_integer<int>(value), bytes_);
  }
  void fill(std::byte value, CUstream_st*) override { fill(value); }

 private:
  std::byte* at(std::uint64_t offset, std::size_t bytes) const {
    return memory_->memory().at(address_ + offset, bytes);
  }
  std::shared_ptr<HostMemory> memory_;
  std::uint64_t bytes_;
  std::uint64_t address_;
};

class HostKernel : public Loaded {
  class Ready;

 public:
  HostKernel(exec::Program program, std::shared_ptr<HostMemory> memory, std::shared_ptr<StreamOrder> order)
      : program_(std::move(program)), memory_(std::move(memory)), order_(std::move(order)) {}

  void launch(CUstream_st* stream, const LaunchConfig& config, const KernelSignature& signature,
              std::span<const Argument> arguments, const exec::Observer& observer) const override {
    run(stream, config, signature, Arguments(signature, arguments).bytes(), observer);
  }

  std::unique_ptr<const Configured> configure(const LaunchConfig& config,
                                              const KernelSignature& signature) const override {
    return std::make_unique<Ready>(*this, config, signature);
  }

  void write_variable(std::string_view name, std::span<const std::byte> data) const override {
    program_.write_variable(name, data);
  }

 private:
  class Ready : public Configured {
   public:
    Ready(const HostKernel& kernel, const LaunchConfig& config, const KernelSignature& signature)
        : kernel_(kernel), config_(config), signature_(signature) {}
    const KernelSignature& signature() const override { return signature_; }
    void launch(CUstream_st* stream, std::span<const std::byte> parameters) const override {
      kernel_.run(stream, config_, signature_, parameters, {});
    }

   private:
    const HostKernel& kernel_;
    const LaunchConfig config_;
    const KernelSignature signature_;
  };

  void run(CUstream_st* stream, const LaunchConfig& config, const KernelSignature& signature,
           std::span<const std::byte> packed, const exec::Observer& observer) const {
    const std::vector<std::byte> parameters = translate(signature, packed);
    const StreamOrder::Turn turn(*order_, stream);
    program_.run(memory_->memory(),
                 {.grid = {config.grid.x, config.grid.y, config.grid.z},
                  .block = {config.block.x, config.block.y, config.block.z},
                  .cluster = cluster_of(signature, config),
                  .shared_bytes = config.shared_bytes,
                  .cooperative = config.cooperative,
                  .parameters = parameters,
                  .step_limit = observer.step_limit,
                  .judge = observer.judge,
                  .arithmetic = observer.arithmetic,
                  .findings = observer.findings,
                  .schedule = observer.schedule,
                  .reversals = observer.reversals,
                  .trace = observer.trace,
                  .traced = observer.traced,
                  .print = observer.print},
                 observer.stats);
  }
  /// 1, 1, 1 leaves it to the kernel, as on a GPU; for the program that is all 0.
  std::array<std::uint32_t, 3> cluster_of(const KernelSignature& signature,
                                          const LaunchConfig& config) const {
    if (config.cluster == Dim3{}) return {};
    if (config.cluster == Dim3{0, 0, 0})
      throw Error(ErrorKind::usage, "launch-cluster",
                  "cannot launch `" + signature.name + "`: cluster.x is 0",
                  "give at least 1: use 1 for an axis that is not needed");
    return {config.cluster.x, config.cluster.y, config.cluster.z};
  }
  /// Replaces pointers into registered memory by the executor's addresses.
  std::vector<std::byte> translate(const KernelSignature& signature,
                                   std::span<const std::byte> packed) const {
    std::vector<std::byte> bytes(packed.begin(), packed.end());
    for (const KernelParameter& parameter : signature.parameters) {
      if (parameter.size != sizeof(std::uint64_t) || parameter.type.is_float()) continue;
      std::uint64_t value = 0;
      std::memcpy(&value, bytes.data() + parameter.offset, sizeof value);
      value = memory_->translate(value);
      std::memcpy(bytes.data() + parameter.offset, &value, sizeof value);
    }
    return bytes;
  }

  exec::Program program_;
  std::shared_ptr<HostMemory> memory_;
  std::shared_ptr<StreamOrder> order_;
};

class Executor : public Machine {
 public:
  explicit Executor(const Target& target) : target_(target) { info_.name = "CPU executor"; }

  const DeviceInfo& info() const override { return info_; }
  const Target& target() const override { return target_; }
  const DeviceContext* device() const override { return nullptr; }
  std::unique_ptr<Block> allocate(std::uint64_t bytes) const override {
    return std::make_unique<HostBlock>(memory_, bytes);
  }
  void register_memory(void* data, std::size_t bytes) const override { memory_->add(data, bytes); }
  void unregister_memory(void* data) const override { memory_->remove(data); }
  void synchronize(CUstream_st*) const override {}
  bool is_capturing(CUstream_st*) const override { return false; }
  // A stream is identified by the handle that launches pass.
  std::uint64_t stream_id(CUstream_st* stream) const override {
    return reinterpret_cast<std::uintptr_t>(stream);
  }
  EncodedTensorMap encode(const TensorMap& map) const override {
    map.check();
    TensorMap translated = map;
    translated.address = memory_->translate(map.address);
    return encode_for_executor(translated);
  }

  void clear(CUstream_st* stream, std::uint64_t address, std::uint64_t bytes) const override {
    if (bytes == 0) return;
    const StreamOrder::Turn turn(*order_, stream);
    std::memset(memory_->memory().at(memory_->translate(address), bytes), 0, bytes);
  }

  void load(Kernel::State& state, const ir::Module& module, const Linker&) const override {
    Stopwatch watch;
    state.loaded = std::make_unique<HostKernel>(exec::Program(module, state.signature.name), memory_, order_);
    state.times.load = watch.lap();
  }

 private:
  DeviceInfo info_;
  Target target_;
  std::shared_ptr<HostMemory> memory_ = std::make_shared<HostMemory>();
  std::shared_ptr<StreamOrder> order_ = std::make_shared<StreamOrder>();
};

}  // namespace

std::shared_ptr<Machine> make_executor(const Target& target) { return std::make_shared<Executor>(target); }

}  // namespace ptxloom::api
