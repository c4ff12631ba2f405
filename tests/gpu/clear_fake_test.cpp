// SPDX-License-Identifier: Apache-2.0
// What launches clear, while they are captured into a graph. The driver is a fake that only records calls.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "ptxloom/builder.hpp"
#include "ptxloom/context.hpp"
#include "ptxloom/prepared_launch.hpp"
#include "support/fake_driver.hpp"
#include "support/require.hpp"
#include "support/temporary_folder.hpp"

namespace ptxloom::test::clear_fake_test {
namespace {

struct Rig {
  FakeCuda& fake = fresh_fake();
  TemporaryFolder folder;
  Context context{
      {.device = "gpu", .cache_folder = folder / "cache", .libraries = {.folders = {fake_driver_folder()}}}};
  Buffer x = context.alloc(512), y = context.alloc(512);

  Rig() {
    if (!context.libraries().has_nvjitlink()) test::skip_without("nvjitlink", "there is no nvJitLink");
    fake.kernel = "copy";
    fake.parameters = {{0, 8}, {8, 8}};
  }
  Kernel kernel() const {
    KernelBuilder k(context, "copy", context.target());
    const Pointer from = k.pointer(f32, "from"), to = k.pointer(f32, "to");
    k.store(to[0], k.load(from[0]));
    return context.load(k.finish());
  }
  /// Two launches; the first clears two ranges of y, the second one of x.
  PreparedLaunch prepared() const {
    const Kernel copy = kernel();
    LaunchPlan first{.entry = "copy",
                     .block = {32, 1, 1},
                     .arguments = {{"from", u64, "x"}, {"to", u64, "y"}},
                     .clear = {{"y", 16, 100}, {"y", 256, 256}}};
    LaunchPlan second = first;
    second.clear = {{"x", 8, 24}};
    return {std::array{copy, copy}, std::array{first, second}, context.device().sms,
            std::vector<std::string_view>{"x", "y"}};
  }
};

}  // namespace

TEST_CASE("what launches clear is captured with them, each range before its own launch") {
  Rig rig;
  const PreparedLaunch prepared = rig.prepared();
  const int allocations = rig.fake.allocations;
  CUstream_st* captured = nullptr;
  rig.y.fill(std::byte{0xff});
  const std::size_t before = rig.fake.fills.size();
  const Graph graph(rig.context, [&](CUstream_st* stream) {
    captured = stream;
    prepared.launch(stream, std::vector<std::uint64_t>{rig.x.address(), rig.y.address()});
    CHECK(rig.fake.captures.at(stream).valid);
  });
  CHECK(rig.fake.allocations == allocations);
  CHECK(rig.fake.launches.size() == 2);
  REQUIRE(rig.fake.fills.size() == before + 3);
  const struct {
    std::uint64_t to;
    std::size_t bytes, launches;
  } expected[] = {
      {rig.y.address() + 16, 100, 0}, {rig.y.address() + 256, 256, 0}, {rig.x.address() + 8, 24, 1}};
  for (std::size_t i = 0; i < 3; ++i) {
    CAPTURE(i);
    const FakeCuda::Fill& fill = rig.fake.fills[before + i];
    CHECK(fill.to == expected[i].to);
    CHECK(fill.bytes == expected[i].bytes);
    CHECK(fill.value == 0);
    CHECK(fill.stream == captured);
    CHECK(fill.launches == expected[i].launches);
  }
  for (const FakeCuda::Launch& launch : rig.fake.launches) CHECK(launch.config.hStream == captured);
  graph.launch(nullptr);
}

TEST_CASE("a range that cannot be cleared stops the launch before its kernel") {
  Rig rig;
  const PreparedLaunch prepared = rig.prepared();
  rig.fake.failures["cuMemsetD8Async"] = CUDA_ERROR_INVALID_VALUE;
  CHECK_THROWS_AS(prepared.launch(nullptr, std::vector<std::uint64_t>{rig.x.address(), rig.y.address()}),
                  Error);
  CHECK(rig.fake.launches.empty());
}

}  // namespace ptxloom::test::clear_fake_test
