// SPDX-License-Identifier: Apache-2.0
// What a launch costs the host: Gemm::launch beside cuLaunchKernelEx with the same kernel, arguments and
// attributes, in turns, and pl::gemm() for a problem that the context knows. Claims: within 1 us of
// cuLaunchKernelEx; under 2 us. Beside it, in the same run: tests/bench/launch/launch_overhead.py times
// torch.mm.
//   launch_overhead [ROUNDS]     default 200; needs a GPU
#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

#include "bench/bench.hpp"
#include "launch/context.hpp"
#include "ptxloom/context.hpp"
#include "ptxloom/tune.hpp"

using namespace ptxloom;
using namespace ptxloom::bench;

namespace {

constexpr int kLaunches = 100;  // between two waits: fewer than the driver's queue holds

/// The launch of a kernel as a program has it that calls the driver itself.
class DirectLaunch {
 public:
  DirectLaunch(const Context& context, const Specialised& kernel, const AddressOf& address)
      : driver_(context.device_context().state()->driver),
        module_(context.device_context(), kernel.kernels.front().cubin()) {
    const LaunchArguments arguments(kernel.launches.front(), address,
                                    [&](const TensorMap& map) { return context.encode(map); });
    const Function function = module_.function(kernel.kernels.front().signature());
    const Arguments packed(function.signature(), arguments);
    bytes_.assign(packed.bytes().begin(), packed.bytes().end());
    for (const KernelParameter& parameter : function.signature().parameters)
      parameters_.push_back(bytes_.data() + parameter.offset);
    const LaunchConfig config = launch_config_of(kernel.launches.front(), context.device().sms);
    driver_.check(driver_.cuModuleLoadData(&native_module_, kernel.kernels.front().cubin().data()),
                  "loading");
    driver_.check(
        driver_.cuModuleGetFunction(&function_, native_module_, kernel.launches.front().entry.c_str()),
        "looking");
    driver_.check(driver_.cuFuncSetAttribute(function_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                             static_cast<int>(config.shared_bytes)),
                  "opting in");
    native_.gridDimX = config.grid.x, native_.gridDimY = config.grid.y, native_.gridDimZ = config.grid.z;
    native_.blockDimX = config.block.x, native_.blockDimY = config.block.y,
    native_.blockDimZ = config.block.z;
    native_.sharedMemBytes = config.shared_bytes;
    native_.attrs = attributes_.data();
    if (config.cluster != Dim3{}) {
      CUlaunchAttribute& cluster = attributes_[native_.numAttrs++];
      cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
      cluster.value.clusterDim = {config.cluster.x, config.cluster.y, config.cluster.z};
    }
    if (config.cooperative) {
      CUlaunchAttribute& cooperative = attributes_[native_.numAttrs++];
      cooperative.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
      cooperative.value.cooperative = 1;
    }
  }
  DirectLaunch(const DirectLaunch&) = delete;
  DirectLaunch& operator=(const DirectLaunch&) = delete;

  void operator()(CUstream_st* stream) {
    native_.hStream = stream;
    driver_.check(driver_.cuLaunchKernelEx(&native_, function_, parameters_.data(), nullptr), "launching");
  }

 private:
  const cuda::Driver& driver_;
  DeviceModule module_;
  CUmodule native_module_ = nullptr;
  CUfunction function_ = nullptr;
  CUlaunchConfig native_ = {};
  std::array<CUlaunchAttribute, 2> attributes_ = {};
  std::vector<std::byte> bytes_;
  std::vector<void*> parameters_;
};

struct Case {
  const char* name;
  GemmProblem problem;
  Settings config = {};
};

double microseconds(const Context& context, const auto& work) {
  const double ms = milliseconds_of([&] {
    for (int i = 0; i < kLaunches; ++i) work();
  });
  context.synchronize();
  return ms * 1000 / kLaunches;
}

void time(const Context& context, const Case& one, int rounds) {
  const Gemm made = gemm(context, one.problem, one.config);
  const Specialised& kernel = made.specialised();
  std::map<std::string, Buffer, std::less<>> buffers;
  for (const HostTensor& tensor : make_tensors(gemm_template(), kernel.problem, {}, 1)) {
    Buffer& buffer = buffers[tensor.plan.name] = context.alloc(tensor.bytes.size());
    buffer.write(tensor.bytes);
  }
  if (kernel.launches.front().workspace_bytes > 0) {
    Buffer& workspace = buffers[std::string(kWorkspace)] =
        context.alloc(kernel.launches.front().workspace_bytes);
    workspace.fill(std::byte{0});
  }
  DirectLaunch direct(context, kernel,
                      [&](std::string_view name) { return buffers.find(name)->second.address(); });
  const Stream stream(context.device_context());
  GemmOperands operands{.a = buffers["a"], .b = buffers["b"], .d = buffers["d"]};
  const GemmSizes smaller{.m = one.problem.m - 1};
  made.launch(stream, operands, smaller);
  enum { direct_us, own_us, smaller_us, known_us, kinds };
  std::vector<double> times[kinds];
  for (int round = 0; round < rounds; ++round) {
    times[direct_us].push_back(microseconds(context, [&] { direct(stream); }));
    times[own_us].push_back(microseconds(context, [&] { made.launch(stream, operands); }));
    times[smaller_us].push_back(microseconds(context, [&] { made.launch(stream, operands, smaller); }));
    times[known_us].push_back(microseconds(context, [&] { gemm(context, one.problem, one.config); }));
  }
  fmt::print("{:<34} {:>8.2f} {:>8.2f} {:>8.2f} {:>8.2f} {:>8.2f}\n", one.name, median(times[direct_us]),
             median(times[own_us]), median(times[own_us]) - median(times[direct_us]),
             median(times[smaller_us]), median(times[known_us]));
}

}  // namespace

int main(int argc, char** argv) try {
  const int rounds = argc > 1 ? std::stoi(argv[1]) : 200;
  const Context context({.device = "gpu"});
  // Current, as in a program that uses CUDA itself.
  const cuda::CurrentContext current = context.device_context().state()->make_current();
  fmt::print("{}: microseconds of host time, medians of {} rounds of {} launches\n", context.device().name,
             rounds, kLaunches);
  fmt::print("{:<34} {:>8} {:>8} {:>8} {:>8} {:>8}\n", "", "driver", "launch", "more", "m - 1", "gemm()");
  const Case cases[] = {
      {"bf16 256 256 256", {.m = 256, .n = 256, .k = 256, .a = bf16}},
      {"bf16 256 256 256, mma.sync", {.m = 256, .n = 256, .k = 256, .a = bf16}, {{"strategy", "mma"}}},
      {"bf16 255 257 259, packed", {.m = 255, .n = 257, .k = 259, .a = bf16}, {{"strategy", "wgmma"}}},
      {"bf16 256 256 2048, stream-K", {.m = 256, .n = 256, .k = 2048, .a = bf16}, {{"stream_k", "yes"}}},
      {"e4m3 64 512 512, split by 4", {.m = 64, .n = 512, .k = 512, .a = e4m3}, {{"split", "4"}}},
  };
  for (const Case& one : cases) time(context, one, rounds);
} catch (const std::exception& error) {
  fmt::print(stderr, "launch_overhead: {}\n", error.what());
  return 1;
}
