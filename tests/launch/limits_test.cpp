// SPDX-License-Identifier: Apache-2.0
// The last value that is accepted of each limit of a launch, and the first that is not; and what is told of a
// device, field by field.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <string>
#include <vector>

#include "fake_cubin.hpp"
#include "ptxloom/launch.hpp"
#include "support/errors.hpp"
#include "support/fake_driver.hpp"

namespace ptxloom::test::limits_test {
namespace {

struct Rig {
  FakeCuda& fake;
  DeviceContext context{fake_libraries()};
  KernelSignature signature{.name = "kernel"};

  explicit Rig(FakeCuda& driver = fresh_fake()) : fake(driver) {}
  Function function() const { return DeviceModule(context, fake_cubin()).function(signature); }
  void launch(const LaunchConfig& config) const {
    function().launch(nullptr, config, Arguments(signature, {}));
  }
};

/// What is wrong with an argument of a parameter of this type; empty: nothing.
std::string refusal(Type type, const Argument& argument) {
  KernelSignature signature{.name = "kernel"};
  signature.append({.name = "n", .type = type});
  try {
    Arguments(signature, {argument});
  } catch (const Error& error) {
    return error.diagnostics()[0].code;
  }
  return "";
}

}  // namespace

TEST_CASE("launch: the largest grids, blocks, clusters and shared memory are accepted, and no larger ones") {
  const Rig rig;
  rig.fake.static_shared = 448;
  struct Limit {
    LaunchConfig last, beyond;
  };
  const Limit limits[] = {
      {{.grid = {0x7fffffff}}, {.grid = {0x80000000}}},
      {{.grid = {1, 65535}}, {.grid = {1, 65536}}},
      {{.grid = {1, 1, 65535}}, {.grid = {1, 1, 65536}}},
      {{.block = {512}}, {.block = {513}}},
      {{.block = {1, 512}}, {.block = {1, 513}}},
      {{.block = {1, 1, 64}}, {.block = {1, 1, 65}}},
      {{.block = {8, 8, 8}}, {.block = {8, 8, 9}}},
      {{.shared_bytes = 232000}, {.shared_bytes = 232001}},
      {{.grid = {16}, .cluster = {16}}, {.grid = {17}, .cluster = {17}}},
      {{.grid = {4, 4}, .cluster = {4, 4}}, {.grid = {5, 4}, .cluster = {5, 4}}},
      {{.grid = {6, 2, 3}, .cluster = {3, 2, 1}}, {.grid = {7, 2, 3}, .cluster = {3, 2, 1}}},
      {{.grid = {3, 4}, .cluster = {1, 2}}, {.grid = {4, 3}, .cluster = {1, 2}}},
      {{.grid = {3, 3, 4}, .cluster = {1, 1, 2}}, {.grid = {4, 4, 3}, .cluster = {1, 1, 2}}},
      {{.grid = {1, 1, 1}}, {.grid = {1, 1, 0}}},
  };
  for (const auto& [last, beyond] : limits) {
    CAPTURE(&last - &limits[0].last);
    const std::size_t before = rig.fake.launches.size();
    CHECK_NOTHROW(rig.launch(last));
    CHECK(rig.fake.launches.size() == before + 1);
    const Error error = error_of([&] { rig.launch(beyond); });
    CHECK(error.diagnostics()[0].code.starts_with("launch-"));
    CHECK(rig.fake.launches.size() == before + 1);
  }
}

TEST_CASE("launch: a device before sm_90 has no clusters") {
  FakeCuda& fake = fresh_fake();
  fake.attributes[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] = 8;
  const Rig rig(fake);
  CHECK_NOTHROW(rig.launch({.grid = {2}}));
  const Error error = error_of([&] { rig.launch({.grid = {2}, .cluster = {2}}); });
  CHECK(error.diagnostics()[0].code == "launch-cluster");
  CHECK(error.diagnostics()[0].hint == "clusters need sm_90");
}

TEST_CASE("launch: each field of a device comes from its attribute") {
  FakeCuda& fake = fresh_fake();
  fake.attributes = {{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 8},
                     {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 6},
                     {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 84},
                     {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1695000},
                     {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 9751000},
                     {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 384},
                     {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 6291456},
                     {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 101376},
                     {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 1536}};
  const DeviceInfo info = DeviceContext(fake_libraries()).info();
  CHECK(info.ordinal == 0);
  CHECK(info.target().name() == "sm_86");
  CHECK(info.sms == 84);
  CHECK(info.clock_mhz == 1695);
  CHECK(info.memory_clock_mhz == 9751);
  CHECK(info.memory_bus_bits == 384);
  CHECK(info.l2_bytes == 6291456);
  CHECK(info.shared_per_block == 101376);
  CHECK(info.threads_per_sm == 1536);
}

TEST_CASE("launch: every error of the driver that a kernel causes is a fault, and no other") {
  const Rig rig;
  rig.launch({});
  const auto code = [&](CUresult result) {
    rig.fake.failures["cuCtxSynchronize"] = result;
    return error_of([&] { rig.context.synchronize(); }).diagnostics()[0].code;
  };
  for (const CUresult result :
       {CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_LAUNCH_TIMEOUT, CUDA_ERROR_ASSERT,
        CUDA_ERROR_HARDWARE_STACK_ERROR, CUDA_ERROR_ILLEGAL_INSTRUCTION, CUDA_ERROR_MISALIGNED_ADDRESS,
        CUDA_ERROR_INVALID_ADDRESS_SPACE, CUDA_ERROR_INVALID_PC, CUDA_ERROR_LAUNCH_FAILED}) {
    CAPTURE(result);
    CHECK(code(result) == "device-fault");
  }
  for (const CUresult result : {CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_READY, CUDA_ERROR_INVALID_CONTEXT,
                                CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES}) {
    CAPTURE(result);
    CHECK(code(result) == "cuda-error");
  }
}

TEST_CASE("launch: a fault names the last sixteen kernels, each once, in their order") {
  const Rig rig;
  const auto run = [&](const std::string& name) {
    rig.fake.kernel = name;
    KernelSignature signature{.name = name};
    DeviceModule(rig.context, fake_cubin()).function(signature).launch(nullptr, {}, Arguments(signature, {}));
  };
  const auto told = [&] {
    rig.fake.failures["cuCtxSynchronize"] = CUDA_ERROR_ASSERT;
    const std::string message = error_of([&] { rig.context.synchronize(); }).diagnostics()[0].message;
    rig.fake.failures.clear();
    return message.substr(0, message.find(" on device"));
  };
  run("k0");
  CHECK(told() == "`k0`");
  run("k1");
  run("k0");
  CHECK(told() == "one of `k0`, `k1`");
  std::string last;
  for (int i = 2; i <= 17; ++i) {
    run("k" + std::to_string(i));
    last += (i == 2 ? "`k" : ", `k") + std::to_string(i) + "`";
  }
  CHECK(told() == "one of " + last);
}

TEST_CASE("launch: the numbers that a type can just hold are accepted, and those beyond are refused") {
  struct Limit {
    Type type;
    Argument last, beyond;
  };
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  const Limit limits[] = {
      {u8, 255, 256},
      {s8, -128, -129},
      {b8, -128, -129},
      {b8, 255, 256},
      {u16, 65535, 65536},
      {s16, -32768, -32769},
      {b16, -32768, -32769},
      {u32, std::uint64_t{0xffff'ffff}, std::uint64_t{0x1'0000'0000}},
      {s32, std::int64_t{-0x8000'0000LL}, std::int64_t{-0x8000'0001LL}},
      {b32, std::int64_t{-0x8000'0000LL}, std::int64_t{-0x8000'0001LL}},
  };
  for (const Limit& limit : limits) {
    CAPTURE(limit.type.name, &limit - limits);
    CHECK(refusal(limit.type, limit.last).empty());
    CHECK(refusal(limit.type, limit.beyond) == "argument-range");
  }
  CHECK(refusal(s64, kLeast).empty());
  CHECK(refusal(b64, kLeast).empty());
  CHECK(refusal(b64, std::numeric_limits<std::uint64_t>::max()).empty());
  CHECK(refusal(u32, 0).empty());
}

}  // namespace ptxloom::test::limits_test
