// SPDX-License-Identifier: Apache-2.0
// The GPU side of Context, against a fake driver that only records calls.
#include <catch2/catch_test_macros.hpp>

#include "ptxloom/builder.hpp"
#include "ptxloom/context.hpp"
#include "support/errors.hpp"
#include "support/fake_driver.hpp"
#include "support/require.hpp"
#include "support/temporary_folder.hpp"

using namespace ptxloom;

namespace {

Context fake_gpu(const TemporaryFolder& folder,
                 std::vector<std::filesystem::path> libraries = {fake_driver_folder()}) {
  return Context({.device = "gpu",
                  .cache_folder = folder / "cache",
                  .records_folder = folder / "records",
                  .libraries = {.folders = std::move(libraries)}});
}

ir::Module empty_kernel(const Context& context, const char* target) {
  KernelBuilder k(context, "kernel", Target(target));
  k.param(u32, "n");
  return k.finish();
}

}  // namespace

TEST_CASE("a context on a GPU takes its target from the device, and leaves the current context as it was") {
  FakeCuda& fake = fresh_fake();
  const TemporaryFolder folder;
  {
    const Context context = fake_gpu(folder);
    CHECK(context.is_gpu());
    CHECK(context.target().name() == "sm_90a");
    const Buffer buffer = context.alloc(100);
    CHECK(buffer.address() != 0);
    context.synchronize();
    CHECK(fake.contexts.empty());
    CHECK(fake.live_objects > 0);
  }
  CHECK(fake.live_objects == 0);
  CHECK(fake.contexts.empty());
}

TEST_CASE("a kernel for another chip is refused before it is linked") {
  fresh_fake();
  const TemporaryFolder folder;
  const Context context = fake_gpu(folder);
  const Error error = error_of([&] { context.load(empty_kernel(context, "sm_100a")); });
  CHECK(error.kind() == ErrorKind::illegal_ptx);
  CHECK(error.diagnostics().front().code == "target-mismatch");
}

TEST_CASE("loading links, a second time from the cache, and a launch passes the packed arguments") {
  FakeCuda& fake = fresh_fake();
  fake.parameters = {{0, 4}};
  const TemporaryFolder folder;
  const Context context = fake_gpu(folder);
  if (!context.libraries().has_nvjitlink()) test::skip_without("nvjitlink", "there is no nvJitLink");
  const Kernel kernel = context.load(empty_kernel(context, "sm_80"));
  CHECK(!kernel.cached());
  CHECK(kernel.cubin().size() > 100);
  REQUIRE(kernel.resources());
  CHECK(kernel.resources()->registers > 0);
  CHECK(context.load(empty_kernel(context, "sm_80")).cached());

  kernel.launch(nullptr, {.grid = {3, 2}, .block = {64}, .shared_bytes = 16}, {0x01020304});
  REQUIRE(fake.launches.size() == 1);
  CHECK(fake.launches[0].config.gridDimY == 2);
  CHECK(fake.launches[0].config.sharedMemBytes == 16);
  CHECK(fake.launches[0].parameters ==
        std::vector<std::byte>{std::byte{4}, std::byte{3}, std::byte{2}, std::byte{1}});
  CHECK(fake.contexts.empty());
}

TEST_CASE("a driver that is too old is an error, not a reason to fall back silently") {
  const TemporaryFolder folder;
  const Error error = error_of([] { Context({.libraries = {.folders = {old_driver_folder()}}}); });
  CHECK(error.kind() == ErrorKind::missing);
  CHECK(error.diagnostics().front().code == "driver-too-old");
}

TEST_CASE("a driver without a device falls back to the executor") {
  FakeCuda& fake = fresh_fake();
  fake.device_count = 0;
  CHECK(!Context({.libraries = {.folders = {fake_driver_folder()}}}).is_gpu());
  fresh_fake();
}
