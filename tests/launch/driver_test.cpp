// SPDX-License-Identifier: Apache-2.0
// What launching asks of the driver, seen by a fake one.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "fake_cubin.hpp"
#include "ptxloom/launch.hpp"
#include "support/errors.hpp"
#include "support/fake_driver.hpp"

using namespace ptxloom;

namespace {

/// A kernel of {u32 n, f32* x} on the fake device.
struct Fixture {
  FakeCuda& fake = fresh_fake();
  DeviceContext context{fake_libraries()};
  KernelSignature signature{.name = "kernel"};

  Fixture() {
    fake.parameters = {{0, 4}, {8, 8}};
    signature.append({.name = "n", .type = u32});
    signature.append({.name = "x", .type = u64, .pointer = true});
  }
  Function function() const { return DeviceModule(context, fake_cubin()).function(signature); }
  Arguments arguments() const { return {signature, {4099, Argument::pointer(256)}}; }
};

const CUlaunchAttribute* find_attribute(const FakeCuda::Launch& launch, CUlaunchAttributeID id) {
  const auto found = std::ranges::find(launch.attributes, id, &CUlaunchAttribute::id);
  return found == launch.attributes.end() ? nullptr : &*found;
}

}  // namespace

TEST_CASE("a device is described, and an unknown one refused") {
  const FakeCuda& fake = fresh_fake();
  REQUIRE(devices(fake_libraries()).size() == 1);
  const DeviceInfo info = devices(fake_libraries())[0];
  CHECK(info.name == "NVIDIA H200");
  CHECK(info.sms == 132);
  CHECK(info.clock_mhz == 1980);
  CHECK(info.shared_per_block == 232448);
  CHECK(info.memory_bytes == std::uint64_t{139} << 30);
  CHECK(info.driver_api == 13000);
  CHECK(info.target().name() == "sm_90a");
  for (const int ordinal : {-1, 1}) {
    const Error error = error_of([&] { DeviceContext(fake_libraries(), ordinal); });
    CHECK(error.kind() == ErrorKind::usage);
    CHECK(error.diagnostics()[0].code == "unknown-device");
  }
  CHECK(fake.live_objects == 0);
}

TEST_CASE("a launch reaches the driver as it was asked for") {
  const Fixture f;
  const Stream stream(f.context);
  f.function().launch(stream, {.grid = {8, 3, 2}, .block = {64, 2, 4}, .shared_bytes = 1000}, f.arguments());
  REQUIRE(f.fake.launches.size() == 1);
  const FakeCuda::Launch& launch = f.fake.launches[0];
  CHECK((launch.config.gridDimX == 8 && launch.config.gridDimY == 3 && launch.config.gridDimZ == 2));
  CHECK((launch.config.blockDimX == 64 && launch.config.blockDimY == 2 && launch.config.blockDimZ == 4));
  CHECK(launch.config.sharedMemBytes == 1000);
  CHECK(launch.config.hStream == static_cast<CUstream>(stream));
  CHECK(launch.attributes.empty());
  CHECK(std::ranges::equal(launch.parameters, f.arguments().bytes()));
  CHECK(f.fake.function_attributes.empty());
}

TEST_CASE("clusters, dependent and cooperative launches become attributes") {
  const Fixture f;
  f.function().launch(
      nullptr,
      {.grid = {8, 4}, .cluster = {2, 4, 1}, .programmatic_dependent_launch = true, .cooperative = true},
      f.arguments());
  const FakeCuda::Launch& launch = f.fake.launches.at(0);
  REQUIRE(launch.attributes.size() == 3);
  const auto* cluster = find_attribute(launch, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
  const auto* dependent = find_attribute(launch, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
  const auto* cooperative = find_attribute(launch, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
  REQUIRE((cluster && dependent && cooperative));
  CHECK((cluster->value.clusterDim.x == 2 && cluster->value.clusterDim.y == 4 &&
         cluster->value.clusterDim.z == 1));
  CHECK(dependent->value.programmaticStreamSerializationAllowed == 1);
  CHECK(cooperative->value.cooperative == 1);
  CHECK(std::ranges::equal(launch.parameters, f.arguments().bytes()));
}

TEST_CASE("a kernel is opted in for shared memory above 48 KB and clusters above 8, once") {
  const Fixture f;
  f.fake.static_shared = 1024;
  const Function function = f.function();
  constexpr auto kShared = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  function.launch(nullptr, {.shared_bytes = 47 * 1024}, f.arguments());
  CHECK(f.fake.function_attributes.empty());
  function.launch(nullptr, {.shared_bytes = 48 * 1024}, f.arguments());
  CHECK(f.fake.function_attributes == std::map<int, int>{{kShared, 48 * 1024}});
  f.fake.function_attributes.clear();
  function.launch(nullptr, {.shared_bytes = 47 * 1024 + 1}, f.arguments());
  CHECK(f.fake.function_attributes.empty());
  CHECK(function.blocks_per_sm({.block = {256}, .shared_bytes = 100 * 1024}) == 8);
  CHECK(f.fake.function_attributes == std::map<int, int>{{kShared, 100 * 1024}});
  function.launch(nullptr, {.grid = {16}, .cluster = {16}}, f.arguments());
  CHECK(f.fake.function_attributes.at(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) == 1);
  CHECK(function.active_clusters({.grid = {16}, .cluster = {16}}) == 1);
}

TEST_CASE("a configuration that cannot be launched is refused before the driver sees it") {
  const Fixture f;
  const Function function = f.function();
  const std::pair<LaunchConfig, std::string> bad[] = {{{.grid = {0}}, "launch-size"},
                                                      {{.grid = {1, 65536}}, "launch-size"},
                                                      {{.grid = {0x80000000}}, "launch-size"},
                                                      {{.block = {513}}, "launch-size"},
                                                      {{.block = {32, 32}}, "launch-size"},
                                                      {{.block = {1, 1, 65}}, "launch-size"},
                                                      {{.block = {1, 0}}, "launch-size"},
                                                      {{.shared_bytes = 232449}, "launch-shared"},
                                                      {{.grid = {9}, .cluster = {2}}, "launch-cluster"},
                                                      {{.grid = {32}, .cluster = {32}}, "launch-cluster"},
                                                      {{.cluster = {0}}, "launch-cluster"}};
  for (const auto& [config, code] : bad) {
    const Error error = error_of([&] { function.launch(nullptr, config, f.arguments()); });
    CAPTURE(error.what());
    CHECK(error.kind() == ErrorKind::usage);
    CHECK(error.diagnostics()[0].code == code);
    CHECK(error.diagnostics()[0].message.find("`kernel`") != std::string::npos);
    CHECK_FALSE(error.diagnostics()[0].hint.empty());
    CHECK(error_of([&] { static_cast<void>(function.blocks_per_sm(config)); }).kind() == ErrorKind::usage);
  }
  KernelSignature other{.name = "other"};
  const Error error = error_of([&] { function.launch(nullptr, {}, Arguments(other, {})); });
  CHECK(error.diagnostics()[0].code == "argument-size");
  CHECK(f.fake.launches.empty());
}

TEST_CASE("an event says whether its work is done, without waiting") {
  const Fixture f;
  const Event event(f.context);
  CHECK(event.completed());
  f.fake.failures["cuEventQuery"] = CUDA_ERROR_NOT_READY;
  CHECK(!event.completed());
  f.fake.failures["cuEventQuery"] = CUDA_ERROR_ILLEGAL_ADDRESS;
  CHECK(error_of([&] { event.completed(); }).kind() == ErrorKind::device_fault);
}

TEST_CASE("every call restores the caller's context, failing ones too, and nothing outlives its owner") {
  FakeCuda& fake = fresh_fake();
  const std::vector<CUcontext> callers = {reinterpret_cast<CUcontext>(&fake)};
  fake.contexts = callers;
  {
    const Fixture f;
    f.fake.contexts = callers;
    const DeviceMemory memory(f.context, 64);
    std::vector<std::byte> data(64, std::byte{3});
    memory.upload(data);
    memory.fill(std::byte{5});
    memory.download(data);
    CHECK(data == std::vector<std::byte>(64, std::byte{5}));
    const Stream stream(f.context);
    const Event start(f.context), stop(f.context);
    start.record(stream);
    f.function().launch(stream, {}, f.arguments());
    stop.record(stream);
    start.wait_in(stream);
    CHECK(stop.elapsed_ms(start) == 2.5F);
    const Graph graph(f.context,
                      [&](CUstream_st* recorded) { f.function().launch(recorded, {}, f.arguments()); });
    graph.launch(stream);
    f.context.synchronize();
    f.context.synchronize(stream);
    stream.synchronize();
    CHECK(f.context.memory() == std::pair<std::uint64_t, std::uint64_t>(1, 2));
    CHECK(f.fake.contexts == callers);
    f.fake.failures["cuLaunchKernelEx"] = CUDA_ERROR_UNKNOWN;
    CHECK(error_of([&] { f.function().launch(stream, {}, f.arguments()); }).diagnostics()[0].code ==
          "cuda-error");
    error_of([&] { Graph(f.context, [](CUstream_st*) { throw Error(ErrorKind::usage, "mine", "m"); }); });
    f.fake.failures["cuCtxSynchronize"] = CUDA_ERROR_ILLEGAL_ADDRESS;
    error_of([&] { f.context.synchronize(); });
    CHECK(f.fake.contexts == callers);
    f.fake.failures["cuStreamCreate"] = CUDA_ERROR_UNKNOWN;
    error_of([&] { static_cast<void>(Stream(f.context)); });
    f.fake.failures["cuModuleLoadData"] = CUDA_ERROR_UNKNOWN;
    error_of([&] { static_cast<void>(DeviceModule(f.context, fake_cubin())); });
    CHECK(f.fake.contexts == callers);
  }
  CHECK(fake.contexts == callers);
  CHECK(fake.live_objects == 0);
}

TEST_CASE("a fault names the kernels that were under way") {
  const Fixture f;
  const auto fault = [&](CUresult result) {
    f.fake.failures["cuCtxSynchronize"] = result;
    const Error error = error_of([&] { f.context.synchronize(); });
    CHECK(error.kind() == (result == CUDA_ERROR_UNKNOWN ? ErrorKind::refused : ErrorKind::device_fault));
    CHECK(error.cuda_result() == result);
    CHECK(exit_code(error.kind()) == 1);
    return error.code() + ": " + error.diagnostics()[0].message;
  };
  const Function function = f.function();
  CHECK(
      fault(CUDA_ERROR_ILLEGAL_ADDRESS).starts_with("device-fault: a kernel of another library on device 0"));
  function.launch(nullptr, {}, f.arguments());
  for (const CUresult result :
       {CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_MISALIGNED_ADDRESS, CUDA_ERROR_LAUNCH_FAILED,
        CUDA_ERROR_ILLEGAL_INSTRUCTION, CUDA_ERROR_LAUNCH_TIMEOUT}) {
    CHECK(fault(result).starts_with("device-fault: `kernel` on device 0: "));
  }
  CHECK(fault(CUDA_ERROR_UNKNOWN).starts_with("cuda-error"));
  f.fake.failures.clear();
  f.context.synchronize();
  CHECK(fault(CUDA_ERROR_ILLEGAL_ADDRESS).starts_with("device-fault: a kernel of another library"));
  f.fake.failures.clear();
  const Graph graph(f.context, [](CUstream_st*) {});
  graph.launch(nullptr);
  CHECK(fault(CUDA_ERROR_ILLEGAL_ADDRESS).starts_with("device-fault: `kernel` on device 0"));
}

TEST_CASE("a cubin that the driver refuses is told apart from a driver too old for it") {
  const Fixture f;
  f.fake.failures["cuModuleLoadData"] = CUDA_ERROR_NO_BINARY_FOR_GPU;
  const Error wrong = error_of([&] { static_cast<void>(f.function()); });
  CHECK(wrong.kind() == ErrorKind::link_failure);
  CHECK(wrong.cuda_result() == CUDA_ERROR_NO_BINARY_FOR_GPU);
  CHECK(wrong.diagnostics()[0].code == "load-failed");
  CHECK(wrong.diagnostics()[0].hint.find("9.0") != std::string::npos);
  const std::vector<std::byte> text(100, std::byte{'x'});
  CHECK(error_of([&] { static_cast<void>(DeviceModule(f.context, text)); }).diagnostics()[0].code ==
        "load-failed");

  f.fake.api_version = 11080;
  const DeviceContext old(fake_libraries());
  const Error error = error_of([&] { static_cast<void>(DeviceModule(old, fake_cubin())); });
  CHECK(error.kind() == ErrorKind::missing);
  CHECK(error.diagnostics()[0].code == "driver-too-old");
}

TEST_CASE("a kernel is found by name, its parameters checked against the signature") {
  Fixture f;
  const DeviceModule module(f.context, fake_cubin());
  const Error unknown = error_of([&] { static_cast<void>(module.function("kernle")); });
  CHECK(unknown.kind() == ErrorKind::usage);
  CHECK(unknown.diagnostics()[0].code == "unknown-kernel");
  CHECK(unknown.diagnostics()[0].hint == "its kernels: kernel");
  const KernelSignature seen = module.function("kernel").signature();
  REQUIRE(seen.parameters.size() == 2);
  CHECK((seen.parameters[0].type == b32 && seen.parameters[1].type == b64 && seen.parameters[1].offset == 8));
  CHECK(Arguments(seen, {4099, Argument::pointer(256)}).bytes().size() == 16);

  f.signature.parameters[1].offset = 4;
  const Error moved = error_of([&] { static_cast<void>(module.function(f.signature)); });
  CHECK(moved.diagnostics()[0].code == "signature-mismatch");
  CHECK(moved.diagnostics()[0].message.find("`x`") != std::string::npos);
  f.signature.parameters.pop_back();
  CHECK(error_of([&] { static_cast<void>(module.function(f.signature)); }).diagnostics()[0].code ==
        "signature-mismatch");
}

TEST_CASE("what is aligned to more than 16 bytes lies where the driver says") {
  Fixture f;
  f.fake.parameters = {{0, 4}, {48, 128}, {176, 4}};
  KernelSignature signature{.name = "kernel"};
  signature.append({.name = "m", .type = u32});
  signature.append({.name = "map", .type = b8, .count = 128, .alignment = 64});
  signature.append({.name = "n", .type = u32});
  REQUIRE(signature.parameters[1].offset == 64);
  const DeviceModule module(f.context, fake_cubin());
  const KernelSignature seen = module.function(signature).signature();
  CHECK((seen.parameters[1].offset == 48 && seen.parameters[2].offset == 176 && seen.size() == 180));

  signature.parameters[1].alignment = 16;
  CHECK(error_of([&] { static_cast<void>(module.function(signature)); }).diagnostics()[0].code ==
        "signature-mismatch");
}

TEST_CASE("copies stay within device memory, and running out of it is told") {
  const Fixture f;
  const DeviceMemory memory(f.context, 16);
  std::vector<std::byte> data(8, std::byte{1});
  memory.fill(std::byte{9});
  memory.upload(data, 8);
  std::vector<std::byte> all(16);
  memory.download(all);
  CHECK((all[7] == std::byte{9} && all[8] == std::byte{1} && all[15] == std::byte{1}));
  const DeviceMemory twin(f.context, 16);
  twin.copy_from(memory, nullptr);
  std::vector<std::byte> copied(16);
  twin.download(copied);
  CHECK(copied == all);
  const auto code = [](const auto& work) { return error_of(work).diagnostics()[0].code; };
  CHECK(code([&] { memory.upload(data, 9); }) == "out-of-range");
  CHECK(code([&] { memory.download(data, ~std::uint64_t{0}); }) == "out-of-range");
  CHECK(code([&] { memory.copy_from(DeviceMemory(f.context, 8), nullptr); }) == "out-of-range");
  CHECK(code([&] { DeviceMemory().upload(data); }) == "out-of-range");
  CHECK(DeviceMemory(f.context, 0).address() == 0);
  f.fake.failures["cuMemAlloc"] = CUDA_ERROR_OUT_OF_MEMORY;
  CHECK(code([&] { static_cast<void>(DeviceMemory(f.context, 1000)); }) == "out-of-device-memory");
}

TEST_CASE("a cluster that the kernel does not take is refused before the driver is asked") {
  const Fixture f;
  f.fake.required_cluster = {2, 1, 1};
  const auto launch = [&](Dim3 cluster) {
    f.function().launch(nullptr, {.grid = {8}, .cluster = cluster}, f.arguments());
  };
  launch({2, 1, 1});
  launch({});  // what the kernel requires
  CHECK(f.fake.launches.size() == 2);
  const Error error = error_of([&] { launch({4, 1, 1}); });
  CHECK(error.kind() == ErrorKind::usage);
  CHECK(error.diagnostics()[0].code == "launch-cluster");
  CHECK(error.diagnostics()[0].hint ==
        "use the one that the kernel requires, 2 x 1 x 1 (.reqnctapercluster)");
  CHECK(f.fake.launches.size() == 2);
}

TEST_CASE("a cooperative grid that is too large is refused with what the device holds") {
  const Fixture f;
  f.fake.failures["cuLaunchKernelEx"] = CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
  const Error error = error_of([&] {
    f.function().launch(nullptr, {.grid = {9999}, .block = {256}, .cooperative = true}, f.arguments());
  });
  CHECK(error.kind() == ErrorKind::usage);
  CHECK(error.diagnostics()[0].code == "launch-cooperative");
  CHECK(error.diagnostics()[0].hint.starts_with("132 SMs hold 1056 of them at once"));
}

TEST_CASE("variables of a module are written by name, whole") {
  const Fixture f;
  f.fake.variables["coef"] = std::vector<std::byte>(4);
  const DeviceModule module(f.context, fake_cubin());
  const std::vector<std::byte> data = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  module.write_variable("coef", data);
  CHECK(f.fake.variables["coef"] == data);
  const Error unknown = error_of([&] { module.write_variable("cofe", data); });
  CHECK(unknown.kind() == ErrorKind::usage);
  CHECK(unknown.diagnostics()[0].code == "unknown-variable");
  const Error size = error_of([&] { module.write_variable("coef", std::span(data).first(3)); });
  CHECK(size.kind() == ErrorKind::usage);
  CHECK(size.diagnostics()[0].code == "variable-size");
  CHECK(f.fake.variables["coef"] == data);
}
