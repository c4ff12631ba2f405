// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>

#include "launch/module.hpp"

namespace ptxloom {
namespace {

bool is_cluster(const LaunchConfig& config) { return config.cluster != Dim3{}; }

target::Size3 size_of(const Dim3& dim) { return {dim.x, dim.y, dim.z}; }

/// Rejects, with a reason, what the driver would just call "invalid argument".
void check_config(const Function::State& state, const LaunchConfig& config) {
  const DeviceInfo& device = state.context().info;
  target::LaunchShape shape{.grid = size_of(config.grid),
                            .block = size_of(config.block),
                            .static_shared = static_cast<std::uint64_t>(state.info.shared_bytes),
                            .dynamic_shared = config.shared_bytes};
  target::LaunchRoom room{.threads = static_cast<std::uint32_t>(state.info.max_threads),
                          .shared = static_cast<std::uint64_t>(device.shared_per_block)};
  if (is_cluster(config)) shape.cluster = size_of(config.cluster);
  if (target::product(state.required_cluster) > 1) room.required_cluster = state.required_cluster;
  if (shape.cluster || room.required_cluster)
    room.cluster_blocks = static_cast<std::uint32_t>(device.target().info().cluster_blocks);
  if (const auto problem = target::find_problem(shape, room))
    throw Error(ErrorKind::usage, problem->code, target::message_of(state.signature.name, *problem),
                problem->hint);
}

[[noreturn]] void refuse_cooperative(const Function& function, const LaunchConfig& config, int sms) {
  const int blocks = function.blocks_per_sm(config);
  throw Error(ErrorKind::usage, "launch-cooperative",
              fmt::format("kernel {}: a cooperative grid of {} thread blocks, each with {} threads",
                          function.name(), config.grid.count(), config.block.count()),
              fmt::format("{} SMs hold {} of them at once: launch fewer thread blocks that each do more", sms,
                          blocks * sms));
}

/// The driver's form of a configuration. It contains pointers to itself.
class NativeConfig {
 public:
  explicit NativeConfig(const LaunchConfig& config) {
    native_.gridDimX = config.grid.x;
    native_.gridDimY = config.grid.y;
    native_.gridDimZ = config.grid.z;
    native_.blockDimX = config.block.x;
    native_.blockDimY = config.block.y;
    native_.blockDimZ = config.block.z;
    native_.sharedMemBytes = config.shared_bytes;
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

  CUlaunchConfig on(CUstream stream) const {
    CUlaunchConfig config = native_;
    config.hStream = stream;
    return config;
  }

 private:
  CUlaunchAttributeValue& add(CUlaunchAttributeID id) {
    CUlaunchAttribute& attribute = attributes_[native_.numAttrs++];
    attribute.id = id;
    return attribute.value;
  }

  std::array<CUlaunchAttribute, 3> attributes_ = {};
  CUlaunchConfig native_ = {};
};

/// Opts the kernel in for anything the configuration requests beyond the defaults.
void opt_in(Function::State& state, const LaunchConfig& config) {
  const std::uint64_t blocks =
      is_cluster(config) ? config.cluster.count() : target::product(state.required_cluster);
  const bool large_cluster = blocks > target::launch_limits().cluster_portable;
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

struct ConfiguredFunction::State {
  Function function;
  std::shared_ptr<Function::State> of;
  LaunchConfig config;
  NativeConfig native;

  State(Function launched, std::shared_ptr<Function::State> state, const LaunchConfig& with)
      : function(std::move(launched)), of(std::move(state)), config(with), native(with) {}
};

ConfiguredFunction::ConfiguredFunction(Function function, const LaunchConfig& config) {
  const std::shared_ptr<Function::State> of = function.state_;
  check_config(*of, config);
  const auto current = of->context().make_current();
  opt_in(*of, config);
  state_ = std::make_shared<const State>(std::move(function), of, config);
}

const KernelSignature& ConfiguredFunction::signature() const { return state_->of->signature; }

void ConfiguredFunction::launch(CUstream_st* stream, std::span<const std::byte> parameters) const {
  const Function::State& function = *state_->of;
  std::size_t size = parameters.size();
  if (size != function.signature.size()) {
    throw Error(ErrorKind::usage, "argument-size",
                fmt::format("`{}` takes {} bytes of parameters, but {} were packed", function.signature.name,
                            function.signature.size(), size),
                "pack the arguments as the signature of this kernel says");
  }
  DeviceContext::State& context = function.context();
  const auto current = context.make_current();
  // The driver only reads the buffer, during the call; its interface lacks the const.
  auto* const first = const_cast<std::byte*>(parameters.data());
  std::array<void*, 5> packed = {CU_LAUNCH_PARAM_BUFFER_POINTER, first, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                                 CU_LAUNCH_PARAM_END};
  // A graph can record a cooperative launch only with individual parameters.
  const bool cooperative = state_->config.cooperative;
  std::vector<void*> single;
  if (cooperative) {
    single.reserve(signature().parameters.size());
    for (const KernelParameter& parameter : signature().parameters)
      single.push_back(first + parameter.offset);
  }
  context.trail.add(function.signature.name);
  const CUlaunchConfig native = state_->native.on(stream);
  const CUresult result =
      context.driver.cuLaunchKernelEx(&native, function.function, cooperative ? single.data() : nullptr,
                                      cooperative || size == 0 ? nullptr : packed.data());
  if (result == CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE)
    refuse_cooperative(state_->function, state_->config, context.info.sms);
  if (result != CUDA_SUCCESS) context.fail(result, fmt::format("launching `{}`", function.signature.name));
}

void Function::launch(CUstream_st* stream, const LaunchConfig& config, const Arguments& arguments) const {
  ConfiguredFunction(*this, config).launch(stream, arguments.bytes());
}

int Function::blocks_per_sm(const LaunchConfig& config) const {
  check_config(*state_, config);
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
  check_config(*state_, config);
  const auto current = state_->context().make_current();
  opt_in(*state_, config);
  int clusters = 0;
  const NativeConfig attributes(config);
  const CUlaunchConfig native = attributes.on(nullptr);
  state_->context().check(state_->driver().cuOccupancyMaxActiveClusters(&clusters, state_->function, &native),
                          "asking how many clusters fit");
  return clusters;
}

}  // namespace ptxloom
