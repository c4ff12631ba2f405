// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>

#include "launch/module.hpp"

namespace ptxloom {
namespace {

/// Clusters above this size need an opt-in, as not every device takes them.
constexpr std::uint64_t kPortableCluster = 8;

std::string describe(Dim3 dim) { return fmt::format("{} x {} x {}", dim.x, dim.y, dim.z); }

bool is_cluster(const LaunchConfig& config) { return config.cluster != Dim3{}; }

/// Refuses what the driver would call "invalid argument" and no more.
class ConfigCheck {
 public:
  ConfigCheck(const Function::State& state, const LaunchConfig& config) : state_(state), config_(config) {}

  void check() const {
    check_sizes();
    check_shared();
    if (is_cluster(config_)) check_cluster();
  }

 private:
  [[noreturn]] void refuse(std::string_view what, std::string hint) const {
    throw Error(ErrorKind::usage, "launch-config",
                fmt::format("cannot launch `{}`: {}", state_.signature.name, what), std::move(hint));
  }

  void check_sizes() const {
    const Dim3 grid = config_.grid;
    const Dim3 block = config_.block;
    if (grid.count() == 0 || block.count() == 0) {
      refuse(fmt::format("a grid of {} blocks of {} threads is empty", describe(grid), describe(block)),
             "each dimension is at least 1");
    }
    if (grid.x > 0x7fffffff || grid.y > 0xffff || grid.z > 0xffff) {
      refuse(fmt::format("a grid of {} blocks", describe(grid)), "the largest is 2147483647 x 65535 x 65535");
    }
    const auto most = static_cast<std::uint64_t>(state_.info.max_threads);
    if (block.x > most || block.y > most || block.z > 64 || block.count() > most) {
      refuse(fmt::format("a block of {} threads", describe(block)),
             fmt::format("this kernel takes at most {} threads a block, and 64 in z", most));
    }
  }

  void check_shared() const {
    const std::uint64_t own = static_cast<std::uint64_t>(state_.info.shared_bytes);
    const std::uint64_t most = static_cast<std::uint64_t>(state_.context().info.shared_per_block);
    if (own + config_.shared_bytes <= most) return;
    refuse(fmt::format("{} bytes of dynamic and {} of static shared memory", config_.shared_bytes, own),
           fmt::format("a block of this device has {} bytes in all", most));
  }

  void check_cluster() const {
    const Dim3 cluster = config_.cluster;
    const Dim3 grid = config_.grid;
    if (state_.context().info.major < 9) refuse("this device has no clusters", "they came with sm_90");
    if (cluster.count() == 0 || cluster.count() > 16) {
      refuse(fmt::format("a cluster of {} blocks", describe(cluster)), "a cluster has 1 to 16 blocks");
    }
    if (grid.x % cluster.x != 0 || grid.y % cluster.y != 0 || grid.z % cluster.z != 0) {
      refuse(fmt::format("a grid of {} blocks is no multiple of clusters of {}", describe(grid),
                         describe(cluster)),
             "round the grid up");
    }
  }

  const Function::State& state_;
  const LaunchConfig& config_;
};

/// The driver's form of a configuration. It points into itself.
class NativeConfig {
 public:
  NativeConfig(const LaunchConfig& config, CUstream stream) {
    native_.gridDimX = config.grid.x;
    native_.gridDimY = config.grid.y;
    native_.gridDimZ = config.grid.z;
    native_.blockDimX = config.block.x;
    native_.blockDimY = config.block.y;
    native_.blockDimZ = config.block.z;
    native_.sharedMemBytes = config.shared_bytes;
    native_.hStream = stream;
    native_.attrs = attributes_.data();
    if (is_cluster(config)) {
      auto& cluster = add(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION).clusterDim;
      cluster.x = config.cluster.x;
      cluster.y = config.cluster.y;
      cluster.z = config.cluster.z;
    }
    if (config.programmatic_dependent_launch) {
      add(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION).programmaticStreamSerializationAllowed = 1;
    }
    if (config.cooperative) add(CU_LAUNCH_ATTRIBUTE_COOPERATIVE).cooperative = 1;
  }
  NativeConfig(const NativeConfig&) = delete;
  NativeConfig& operator=(const NativeConfig&) = delete;

  const CUlaunchConfig* get() const { return &native_; }

 private:
  CUlaunchAttributeValue& add(CUlaunchAttributeID id) {
    CUlaunchAttribute& attribute = attributes_[native_.numAttrs++];
    attribute.id = id;
    return attribute.value;
  }

  std::array<CUlaunchAttribute, 3> attributes_ = {};
  CUlaunchConfig native_ = {};
};

/// Opts the kernel in for what the configuration asks beyond the ordinary.
void opt_in(Function::State& state, const LaunchConfig& config) {
  const bool large_cluster = config.cluster.count() > kPortableCluster;
  if (config.shared_bytes <= state.shared_allowed && (!large_cluster || state.large_clusters_allowed)) return;
  const std::lock_guard lock(state.opt_in);
  if (config.shared_bytes > state.shared_allowed) {
    state.set_attribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                        static_cast<int>(config.shared_bytes));
    state.shared_allowed = config.shared_bytes;
  }
  if (large_cluster && !state.large_clusters_allowed) {
    state.set_attribute(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
    state.large_clusters_allowed = true;
  }
}

}  // namespace

const KernelSignature& Function::signature() const { return state_->signature; }
const FunctionInfo& Function::info() const { return state_->info; }

void Function::launch(const LaunchConfig& config, const Arguments& arguments, CUstream_st* stream) const {
  ConfigCheck(*state_, config).check();
  const std::span<const std::byte> buffer = arguments.bytes();
  if (buffer.size() != state_->signature.size()) {
    throw Error(ErrorKind::usage, "argument-size",
                fmt::format("`{}` takes {} bytes of parameters, but {} were packed", name(),
                            state_->signature.size(), buffer.size()),
                "pack the arguments by this kernel's signature");
  }
  DeviceContext::State& context = state_->context();
  const auto current = context.make_current();
  opt_in(*state_, config);
  std::size_t size = buffer.size();
  // The driver reads the buffer during the call; its interface merely lacks the const.
  auto* const first = const_cast<std::byte*>(buffer.data());
  std::array<void*, 5> packed = {CU_LAUNCH_PARAM_BUFFER_POINTER, first, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                                 CU_LAUNCH_PARAM_END};
  // A graph records a cooperative launch with parameters one by one only.
  std::vector<void*> single;
  if (config.cooperative)
    for (const KernelParameter& parameter : signature().parameters)
      single.push_back(first + parameter.offset);
  context.trail.add(name());
  const NativeConfig native(config, stream);
  const CUresult result = context.driver.cuLaunchKernelEx(
      native.get(), state_->function, config.cooperative ? single.data() : nullptr,
      config.cooperative || size == 0 ? nullptr : packed.data());
  if (result != CUDA_SUCCESS) context.fail(result, fmt::format("launching `{}`", name()));
}

int Function::blocks_per_sm(const LaunchConfig& config) const {
  ConfigCheck(*state_, config).check();
  const auto current = state_->context().make_current();
  opt_in(*state_, config);
  int blocks = 0;
  state_->context().check(
      state_->driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(
          &blocks, state_->function, static_cast<int>(config.block.count()), config.shared_bytes),
      "asking for the occupancy of a kernel");
  return blocks;
}

int Function::active_clusters(const LaunchConfig& config) const {
  ConfigCheck(*state_, config).check();
  const auto current = state_->context().make_current();
  opt_in(*state_, config);
  int clusters = 0;
  const NativeConfig native(config, nullptr);
  state_->context().check(
      state_->driver().cuOccupancyMaxActiveClusters(&clusters, state_->function, native.get()),
      "asking how many clusters fit");
  return clusters;
}

}  // namespace ptxloom
