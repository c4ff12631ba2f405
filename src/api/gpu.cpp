// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "api/kernel_state.hpp"
#include "api/machine.hpp"
#include "api/stopwatch.hpp"
#include "api/tensor_map_cache.hpp"

namespace ptxloom::api {
namespace {

class GpuBlock : public Block {
 public:
  GpuBlock(const DeviceContext& device, std::uint64_t bytes) : memory_(device, bytes) {}
  std::uint64_t address() const override { return memory_.address(); }
  std::uint64_t size() const override { return memory_.size(); }
  void write(std::span<const std::byte> data, std::uint64_t offset) override { memory_.upload(data, offset); }
  void read(std::span<std::byte> data, std::uint64_t offset) const override {
    memory_.download(data, offset);
  }
  void fill(std::byte value) override { memory_.fill(value); }
  void fill(std::byte value, CUstream_st* stream) override { memory_.fill(value, stream); }

 private:
  DeviceMemory memory_;
};

class GpuLaunch : public Configured {
 public:
  GpuLaunch(const Function& function, const LaunchConfig& config) : function_(function, config) {}
  const KernelSignature& signature() const override { return function_.signature(); }
  void launch(CUstream_st* stream, std::span<const std::byte> parameters) const override {
    function_.launch(stream, parameters);
  }

 private:
  ConfiguredFunction function_;
};

class GpuKernel : public Loaded {
 public:
  GpuKernel(DeviceModule module, const KernelSignature& signature)
      : module_(std::move(module)), function_(module_.function(signature)) {}
  void launch(CUstream_st* stream, const LaunchConfig& config, const KernelSignature&,
              std::span<const Argument> arguments, const exec::Observer&) const override {
    function_.launch(stream, config, Arguments(function_.signature(), arguments));
  }
  std::unique_ptr<const Configured> configure(const LaunchConfig& config,
                                              const KernelSignature&) const override {
    return std::make_unique<GpuLaunch>(function_, config);
  }
  void write_variable(std::string_view name, std::span<const std::byte> data) const override {
    module_.write_variable(name, data);
  }

 private:
  DeviceModule module_;
  Function function_;
};

class Gpu : public Machine {
 public:
  Gpu(const Libraries& libraries, int ordinal)
      : device_(libraries, ordinal), target_(device_.info().target()) {}

  const DeviceInfo& info() const override { return device_.info(); }
  const Target& target() const override { return target_; }
  const DeviceContext* device() const override { return &device_; }
  std::unique_ptr<Block> allocate(std::uint64_t bytes) const override {
    return std::make_unique<GpuBlock>(device_, bytes);
  }
  void register_memory(void*, std::size_t) const override {}
  void unregister_memory(void*) const override {}
  EncodedTensorMap encode(const TensorMap& map) const override {
    return maps_.find(map, [&] { return ptxloom::encode(device_, map); });
  }
  void clear(CUstream_st* stream, std::uint64_t address, std::uint64_t bytes) const override {
    fill_memory(device_, address, bytes, std::byte{0}, stream);
  }
  void synchronize(CUstream_st* stream) const override {
    stream == nullptr ? device_.synchronize() : device_.synchronize(stream);
  }
  bool is_capturing(CUstream_st* stream) const override { return device_.is_capturing(stream); }
  std::uint64_t stream_id(CUstream_st* stream) const override { return device_.stream_id(stream); }

  void load(Kernel::State& state, const ir::Module&, const Linker& linker) const override {
    Stopwatch watch;
    state.link.target = target_.name();
    LinkResult linked = linker.link(state.ptx, state.link);
    state.times.link = watch.lap();
    state.cubin = std::move(linked.cubin);
    state.cached = linked.cached;
    state.diagnostics.insert(state.diagnostics.end(), linked.diagnostics.begin(), linked.diagnostics.end());
    const auto entry = std::ranges::find(linked.resources, state.signature.name, &Resources::kernel);
    if (entry != linked.resources.end()) state.resources = *entry;
    state.loaded = std::make_unique<GpuKernel>(DeviceModule(device_, state.cubin), state.signature);
    state.times.load = watch.lap();
  }

 private:
  DeviceContext device_;
  Target target_;
  mutable TensorMapCache maps_;
};

}  // namespace

std::shared_ptr<Machine> make_gpu(const Libraries& libraries, int ordinal) {
  return std::make_shared<Gpu>(libraries, ordinal);
}

}  // namespace ptxloom::api
