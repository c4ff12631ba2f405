// SPDX-License-Identifier: Apache-2.0
// Launching on a real device: what only hardware can show.
#include "ptxloom/launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "cuda/driver.hpp"
#include "ptxloom/jit.hpp"
#include "support/errors.hpp"
#include "support/require.hpp"

using namespace ptxloom;

namespace {

DeviceContext require_gpu() {
  std::optional<DeviceContext> context;
  try {
    context.emplace(Libraries());
  } catch (const Error& error) {
    test::skip_without("gpu", "there is no GPU: " + error.diagnostics()[0].message);
  }
  return *context;
}

void require_clusters(const DeviceContext& context) {
  if (context.info().major < 9) SKIP("clusters and dependent launches came with sm_90");
}

/// Links the body of a PTX module for the device.
DeviceModule load(const DeviceContext& context, std::string_view body) {
  const std::string target(context.info().target().name());
  const std::string ptx = fmt::format(".version 8.8\n.target {}\n.address_size 64\n{}", target, body);
  return {context, Linker(context.libraries()).link(ptx, {.target = target}).cubin};
}

template <typename T>
DeviceMemory upload(const DeviceContext& context, const std::vector<T>& values) {
  DeviceMemory memory(context, values.size() * sizeof(T));
  memory.upload(std::as_bytes(std::span(values)));
  return memory;
}

template <typename T>
DeviceMemory poisoned(const DeviceContext& context, std::size_t count) {
  DeviceMemory memory(context, count * sizeof(T));
  memory.fill(std::byte{0xa5});
  return memory;
}

template <typename T>
std::vector<T> download(const DeviceMemory& memory) {
  std::vector<T> values(memory.size() / sizeof(T));
  memory.download(std::as_writable_bytes(std::span(values)));
  return values;
}

std::vector<float> random_floats(std::size_t count, unsigned stream) {
  std::minstd_rand random(Catch::getSeed() + stream);
  std::uniform_real_distribution<float> distribution(-2, 3);
  std::vector<float> values(count);
  std::ranges::generate(values, [&] { return distribution(random); });
  return values;
}

KernelSignature signature_of(std::string name, std::initializer_list<KernelParameter> parameters) {
  KernelSignature signature{.name = std::move(name)};
  for (const KernelParameter& parameter : parameters) signature.append(parameter);
  return signature;
}

/// d[i] = a[i] + scale * d[i] for i < n.
constexpr std::string_view kAccumulate = R"(
.visible .entry accumulate(.param .u32 n, .param .f32 scale, .param .u64 .ptr .global .align 4 a,
                           .param .u64 .ptr .global .align 4 d)
{
  .reg .pred %p; .reg .b32 %r<5>; .reg .f32 %f<4>; .reg .b64 %d<5>;
  ld.param.u32 %r0, [n]; ld.param.f32 %f0, [scale]; ld.param.u64 %d0, [a]; ld.param.u64 %d1, [d];
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r1, %r1, %r2, %r3;
  setp.ge.u32 %p, %r1, %r0;
  @%p ret;
  mul.wide.u32 %d2, %r1, 4; add.u64 %d0, %d0, %d2; add.u64 %d1, %d1, %d2;
  ld.global.f32 %f1, [%d0]; ld.global.f32 %f2, [%d1]; fma.rn.f32 %f3, %f0, %f2, %f1; st.global.f32 [%d1], %f3;
  ret;
}
)";

const KernelSignature kAccumulateSignature =
    signature_of("accumulate", {{.name = "n", .type = u32},
                                {.name = "scale", .type = f32},
                                {.name = "a", .type = u64, .pointer = true},
                                {.name = "d", .type = u64, .pointer = true}});

CUcontext current_context(const DeviceContext& context) {
  CUcontext current = nullptr;
  const cuda::Driver& driver = context.libraries().driver();
  driver.check(driver.cuCtxGetCurrent(&current), "asking for the current context");
  return current;
}

}  // namespace

TEST_CASE("the device describes itself", "[gpu]") {
  const DeviceContext context = require_gpu();
  const DeviceInfo& info = context.info();
  CHECK_FALSE(info.name.empty());
  CHECK(info.target().number() == 10 * info.major + info.minor);
  CHECK(info.sms > 0);
  CHECK(info.shared_per_block == info.target().info().shared_per_block);
  CHECK(info.threads_per_sm == info.target().info().threads_per_sm);
  CHECK(info.l2_bytes > 1 << 20);
  CHECK(info.memory_bytes >= context.memory().second);
  CHECK(info.driver_api >= 12000);
}

TEST_CASE("a vector of odd size is computed to its last element and no further", "[gpu]") {
  const DeviceContext context = require_gpu();
  constexpr std::uint32_t kCount = 1000003;
  constexpr std::size_t kGuard = 64;
  const std::vector<float> a = random_floats(kCount, 1), d = random_floats(kCount + kGuard, 2);
  const DeviceMemory device_a = upload(context, a), device_d = upload(context, d);
  const DeviceModule module = load(context, kAccumulate);
  const Function function = module.function(kAccumulateSignature);
  const Stream stream(context);
  function.launch(stream, {.grid = {(kCount + 255) / 256}, .block = {256}},
                  {function.signature(), {kCount, 0.75F, device_a, device_d}});
  stream.synchronize();
  std::vector<float> expected = d;
  for (std::size_t i = 0; i < kCount; ++i) expected[i] = std::fma(0.75F, d[i], a[i]);
  CHECK(download<float>(device_d) == expected);
  CHECK((function.info().registers > 0 && function.info().registers < 64));
  CHECK(function.info().max_threads == 1024);
  CHECK(function.blocks_per_sm({.block = {256}}) == context.info().threads_per_sm / 256);
}

TEST_CASE("the driver sees the parameters where the signature has them", "[gpu]") {
  const DeviceContext context = require_gpu();
  const DeviceModule module = load(context, kAccumulate);
  const KernelSignature seen = module.function("accumulate").signature();
  REQUIRE(seen.parameters.size() == 4);
  CHECK((seen.parameters[2].offset == 8 && seen.parameters[2].size == 8));
  CHECK(error_of([&] { static_cast<void>(module.function("absent")); }).diagnostics()[0].hint ==
        "its kernels: accumulate");
  KernelSignature wrong = kAccumulateSignature;
  wrong.parameters[0].size = 8;
  CHECK(error_of([&] { static_cast<void>(module.function(wrong)); }).diagnostics()[0].code ==
        "signature-mismatch");
}

TEST_CASE("a graph replays its launches in order, and events time them", "[gpu]") {
  const DeviceContext context = require_gpu();
  constexpr std::uint32_t kCount = 4099;
  const std::vector<float> a = random_floats(kCount, 3), d = random_floats(kCount, 4);
  const DeviceMemory device_a = upload(context, a), device_d = upload(context, d);
  const Function function = load(context, kAccumulate).function(kAccumulateSignature);
  const auto launch = [&](float scale, CUstream_st* stream) {
    function.launch(stream, {.grid = {(kCount + 127) / 128}, .block = {128}},
                    {function.signature(), {kCount, scale, device_a, device_d}});
  };
  const Graph graph(context, [&](CUstream_st* stream) {
    launch(0.5F, stream);
    launch(-0.25F, stream);
  });
  CHECK(download<float>(device_d) == d);
  const Stream stream(context);
  const Event start(context), stop(context);
  start.record(stream);
  for (int i = 0; i < 3; ++i) graph.launch(stream);
  stop.record(stream);
  const float milliseconds = stop.elapsed_ms(start);
  CHECK((milliseconds > 0 && milliseconds < 1000));
  std::vector<float> expected = d;
  for (int i = 0; i < 6; ++i) {
    for (std::size_t j = 0; j < kCount; ++j)
      expected[j] = std::fma(i % 2 == 0 ? 0.5F : -0.25F, expected[j], a[j]);
  }
  CHECK(download<float>(device_d) == expected);
}

TEST_CASE("an event orders two streams", "[gpu]") {
  const DeviceContext context = require_gpu();
  constexpr std::size_t kBytes = std::size_t{256} << 20;
  const DeviceMemory source(context, kBytes), target = poisoned<std::byte>(context, kBytes);
  const Stream first(context), second(context);
  const Event filled(context);
  for (int i = 0; i < 8; ++i) source.fill(static_cast<std::byte>(i), first);
  filled.record(first);
  filled.wait_in(second);
  target.copy_from(source, second);
  second.synchronize();
  CHECK(std::ranges::count(download<std::byte>(target), std::byte{7}) == static_cast<std::ptrdiff_t>(kBytes));
}

TEST_CASE("the blocks of a cluster know their ranks", "[gpu]") {
  const DeviceContext context = require_gpu();
  require_clusters(context);
  const Function function =
      load(context, R"(
.visible .entry ranks(.param .u64 .ptr .global .align 4 d)
{
  .reg .b32 %r<4>; .reg .b64 %d<3>;
  ld.param.u64 %d0, [d]; mov.u32 %r0, %ctaid.x; mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, %cluster_nctarank;
  mad.lo.u32 %r1, %r2, 100, %r1; mul.wide.u32 %d1, %r0, 4; add.u64 %d2, %d0, %d1; st.global.u32 [%d2], %r1;
  barrier.cluster.arrive; barrier.cluster.wait;
  ret;
}
)")
          .function(signature_of("ranks", {{.name = "d", .type = u64, .pointer = true}}));
  for (const std::uint32_t cluster : {1U, 2U, 4U, 8U, 16U}) {
    CAPTURE(cluster);
    const LaunchConfig config{.grid = {48}, .block = {32}, .cluster = {cluster}};
    const DeviceMemory d = poisoned<std::uint32_t>(context, 48);
    function.launch(nullptr, config, {function.signature(), {d}});
    const auto ranks = download<std::uint32_t>(d);
    std::vector<std::uint32_t> expected(48);
    for (std::uint32_t i = 0; i < 48; ++i) expected[i] = cluster * 100 + i % cluster;
    CHECK(ranks == expected);
    if (cluster > 1)
      CHECK(function.active_clusters(config) > 0);  // the driver counts none for single thread
                                                    // blocks
  }
}

TEST_CASE("a dependent launch sees what the kernel before it wrote", "[gpu]") {
  const DeviceContext context = require_gpu();
  require_clusters(context);
  const DeviceModule module = load(context, R"(
.visible .entry produce(.param .u64 .ptr .global .align 4 d, .param .u32 seed)
{
  .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %d<3>;
  ld.param.u64 %d0, [d]; ld.param.u32 %r5, [seed];
  griddepcontrol.launch_dependents;
  mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r0, %r0, %r1, %r2;
  mov.u32 %r3, 0; add.u32 %r4, %r0, %r5;
SPIN:
  mad.lo.u32 %r4, %r4, 1664525, 1013904223; add.u32 %r3, %r3, 1; setp.lt.u32 %p, %r3, 10000; @%p bra SPIN;
  mul.wide.u32 %d1, %r0, 4; add.u64 %d2, %d0, %d1; st.global.u32 [%d2], %r4;
  ret;
}
.visible .entry consume(.param .u64 .ptr .global .align 4 d, .param .u64 .ptr .global .align 4 e)
{
  .reg .b32 %r<4>; .reg .b64 %d<5>;
  ld.param.u64 %d0, [d]; ld.param.u64 %d3, [e];
  mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r0, %r0, %r1, %r2;
  mul.wide.u32 %d1, %r0, 4; add.u64 %d2, %d0, %d1; add.u64 %d4, %d3, %d1;
  griddepcontrol.wait;
  ld.global.u32 %r3, [%d2]; xor.b32 %r3, %r3, %r0; st.global.u32 [%d4], %r3;
  ret;
}
)");
  const KernelParameter d{.name = "d", .type = u64, .pointer = true};
  const Function produce = module.function(signature_of("produce", {d, {.name = "seed", .type = u32}}));
  const Function consume =
      module.function(signature_of("consume", {d, {.name = "e", .type = u64, .pointer = true}}));
  constexpr std::uint32_t kBlocks = 64, kThreads = 128;
  const std::uint32_t seed = Catch::getSeed();
  const DeviceMemory middle = poisoned<std::uint32_t>(context, kBlocks * kThreads);
  const DeviceMemory result = poisoned<std::uint32_t>(context, kBlocks * kThreads);
  const Stream stream(context);
  produce.launch(stream, {.grid = {kBlocks}, .block = {kThreads}}, {produce.signature(), {middle, seed}});
  consume.launch(stream, {.grid = {kBlocks}, .block = {kThreads}, .programmatic_dependent_launch = true},
                 {consume.signature(), {middle, result}});
  std::vector<std::uint32_t> expected(kBlocks * kThreads);
  for (std::uint32_t i = 0; i < expected.size(); ++i) {
    std::uint32_t x = i + seed;
    for (int step = 0; step < 10000; ++step) x = x * 1664525 + 1013904223;
    expected[i] = x ^ i;
  }
  CHECK(download<std::uint32_t>(result) == expected);
}

TEST_CASE("a kernel uses 96 KB of dynamic shared memory, which limits its occupancy", "[gpu]") {
  const DeviceContext context = require_gpu();
  constexpr std::uint32_t kBytes = 96 * 1024, kWords = kBytes / 4;
  if (context.info().shared_per_block < static_cast<int>(kBytes))
    SKIP("the device has too little shared memory");
  // Each word is written by one thread and read, reversed, by another.
  const Function function =
      load(context, fmt::format(R"(
.extern .shared .align 16 .b8 buffer[];
.visible .entry reverse(.param .u64 .ptr .global .align 4 d)
{{
  .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %d<3>;
  ld.param.u64 %d0, [d]; mov.u32 %r0, %tid.x; mov.u32 %r4, buffer;
  mov.u32 %r1, %r0;
WRITE:
  shl.b32 %r2, %r1, 2; add.u32 %r2, %r4, %r2; mul.lo.u32 %r3, %r1, 2654435761; st.shared.u32 [%r2], %r3;
  add.u32 %r1, %r1, 256; setp.lt.u32 %p, %r1, {0}; @%p bra WRITE;
  bar.sync 0;
  mov.u32 %r1, %r0;
READ:
  sub.u32 %r2, {1}, %r1; shl.b32 %r2, %r2, 2; add.u32 %r2, %r4, %r2; ld.shared.u32 %r3, [%r2];
  mul.wide.u32 %d1, %r1, 4; add.u64 %d2, %d0, %d1; st.global.u32 [%d2], %r3;
  add.u32 %r1, %r1, 256; setp.lt.u32 %p, %r1, {0}; @%p bra READ;
  ret;
}}
)",
                                kWords, kWords - 1))
          .function(signature_of("reverse", {{.name = "d", .type = u64, .pointer = true}}));
  const LaunchConfig config{.block = {256}, .shared_bytes = kBytes};
  const DeviceMemory d = poisoned<std::uint32_t>(context, kWords);
  function.launch(nullptr, config, {function.signature(), {d}});
  std::vector<std::uint32_t> expected(kWords);
  for (std::uint32_t i = 0; i < kWords; ++i) expected[i] = (kWords - 1 - i) * 2654435761U;
  CHECK(download<std::uint32_t>(d) == expected);
  // A thread block reserves 1 KB more for the system.
  CHECK(function.blocks_per_sm(config) ==
        context.info().target().info().shared_per_sm / static_cast<int>(kBytes + 1024));
  const auto most = static_cast<std::uint32_t>(context.info().shared_per_block);
  CHECK(function.blocks_per_sm({.block = {256}, .shared_bytes = most}) == 1);
  CHECK(error_of([&] { function.launch(nullptr, {.shared_bytes = most + 1}, {function.signature(), {d}}); })
            .diagnostics()[0]
            .code == "launch-shared");
}

TEST_CASE("the caller's context is current again after every call", "[gpu]") {
  const DeviceContext context = require_gpu();
  const CUcontext before = current_context(context);
  const DeviceMemory a = upload(context, random_floats(10, 5)), d = upload(context, random_floats(10, 6));
  const Function function = load(context, kAccumulate).function(kAccumulateSignature);
  const Stream stream(context);
  function.launch(stream, {.block = {32}}, {function.signature(), {10, 1.0F, a, d}});
  context.synchronize();
  CHECK(current_context(context) == before);
}

TEST_CASE("a cubin for another chip is refused", "[gpu]") {
  const DeviceContext context = require_gpu();
  const std::string target = context.info().major == 12 ? "sm_90" : "sm_120";
  const std::string ptx = fmt::format(".version 8.8\n.target {}\n.address_size 64\n{}", target, kAccumulate);
  const auto cubin = Linker(context.libraries()).link(ptx, {.target = target}).cubin;
  CHECK(error_of([&] { static_cast<void>(DeviceModule(context, cubin)); }).diagnostics()[0].code ==
        "load-failed");
}

TEST_CASE("running out of device memory is told, and does no harm", "[gpu]") {
  const DeviceContext context = require_gpu();
  const Error error =
      error_of([&] { static_cast<void>(DeviceMemory(context, context.info().memory_bytes * 2)); });
  CHECK(error.diagnostics()[0].code == "out-of-device-memory");
  context.synchronize();
}

TEST_CASE("NVML tells the device's health", "[gpu]") {
  const DeviceContext context = require_gpu();
  const auto health = context.health();
  if (!health) SKIP("this machine has no NVML");
  CHECK((health->clock_mhz > 0 && health->clock_mhz <= context.info().clock_mhz + 100));
  CHECK((health->temperature_c > 0 && health->temperature_c < 120));
}

TEST_CASE("a fault on the device names the kernel", "[gpu]") {
  require_gpu();
  // A fault makes the device unusable for the process, so the next case runs in its own process.
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  CHECK(std::system(("'" + self + "' 'a kernel faults in a process of its own' >/dev/null").c_str()) == 0);
}

TEST_CASE("a kernel faults in a process of its own", "[.part]") {
  const DeviceContext context = require_gpu();
  const Function function = load(context, kAccumulate).function(kAccumulateSignature);
  function.launch(nullptr, {.block = {32}},
                  {function.signature(), {10, 1.0F, Argument::pointer(64), Argument::pointer(64)}});
  const Error error = error_of([&] { context.synchronize(); });
  CHECK(error.kind() == ErrorKind::device_fault);
  CHECK(error.diagnostics()[0].code == "device-fault");
  CHECK(error.diagnostics()[0].message.find("`accumulate`") != std::string::npos);
}
