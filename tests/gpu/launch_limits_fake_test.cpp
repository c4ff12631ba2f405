// SPDX-License-Identifier: Apache-2.0
// A launch that the hardware does not support is refused before anything runs, with the same message on a GPU
// and in the executor.
#include <catch2/catch_test_macros.hpp>

#include "ptxloom/builder.hpp"
#include "ptxloom/context.hpp"
#include "support/errors.hpp"
#include "support/fake_driver.hpp"
#include "support/require.hpp"
#include "support/temporary_folder.hpp"

using namespace ptxloom;

namespace {

ir::Module empty_kernel(const Context& context) {
  KernelBuilder k(context, "kernel", Target("sm_90a"));
  k.shared(b8, 1024, "own");  // which the driver reports
  k.dynamic_shared("bytes", 16);
  return k.finish();
}

std::string refusal(const Kernel& kernel, const LaunchConfig& config) {
  const Error error = error_of([&] { kernel.launch(nullptr, config, {}); });
  CHECK(error.kind() == ErrorKind::usage);
  return error.diagnostics().front().message + "; " + error.diagnostics().front().hint;
}

}  // namespace

TEST_CASE("GPU and executor refuse the same launches in the same words") {
  FakeCuda& fake = fresh_fake();
  fake.static_shared = 1024;
  const TemporaryFolder folder;
  const Context gpu({.device = "gpu",
                     .cache_folder = folder / "cache",
                     .records_folder = folder / "records",
                     .libraries = {.folders = {fake_driver_folder()}}});
  if (!gpu.libraries().has_nvjitlink()) test::skip_without("nvjitlink", "there is no nvJitLink");
  const Context cpu({.device = "cpu"});
  const Kernel on_gpu = gpu.load(empty_kernel(gpu)), on_cpu = cpu.load(empty_kernel(cpu));
  const std::pair<LaunchConfig, const char*> cases[] = {
      {{.grid = {1, 65536}}, "grid.y is 65536, but the most is 65535"},
      {{.grid = {1, 1, 65536}}, "grid.z is 65536, but the most is 65535"},
      {{.grid = {0x80000000}}, "grid.x is 2147483648, but the most is 2147483647"},
      {{.grid = {0}}, "grid.x is 0"},
      {{.block = {1, 0}}, "block.y is 0"},
      {{.block = {1025}}, "block.x is 1025, but the most is 1024"},
      {{.block = {1, 1, 65}}, "block.z is 65, but the most is 64"},
      {{.shared_bytes = 232449},
       "233473 bytes of shared memory, 1024 static and 232449 dynamic, but the most is 232448"},
      {{.grid = {9}, .cluster = {2}}, "grid.x is 9, which is not a multiple of cluster.x, 2"},
      {{.grid = {17}, .cluster = {17}}, "17 thread blocks, but the most is 16"},
      {{.cluster = {0}}, "cluster.x is 0"},
      {{.cluster = {0, 0, 0}}, "cluster.x is 0"},
      {{.cluster = {1, 1, 0}}, "cluster.z is 0"}};
  for (const auto& [config, said] : cases) {
    const std::string text = refusal(on_cpu, config);
    CAPTURE(text);
    CHECK(text == refusal(on_gpu, config));
    CHECK(text.starts_with("cannot launch `kernel`: "));
    CHECK(text.find(said) != std::string::npos);
  }
  CHECK(fake.launches.empty());
}

TEST_CASE("a grid that its kernel's own cluster does not divide is refused, too") {
  FakeCuda& fake = fresh_fake();
  fake.required_cluster = {4, 1, 1};
  const TemporaryFolder folder;
  const Context gpu({.device = "gpu",
                     .cache_folder = folder / "cache",
                     .records_folder = folder / "records",
                     .libraries = {.folders = {fake_driver_folder()}}});
  if (!gpu.libraries().has_nvjitlink()) test::skip_without("nvjitlink", "there is no nvJitLink");
  const Context cpu({.device = "cpu"});
  const auto required = [](const Context& context) {
    ir::Module module = empty_kernel(context);
    module.functions[0].reqnctapercluster = {4, 1, 1};
    return context.load(module);
  };
  const std::string said = refusal(required(cpu), {.grid = {6}});
  CHECK(said.find("grid.x is 6, which is not a multiple of cluster.x, 4; the next multiple is 8") !=
        std::string::npos);
  CHECK(refusal(required(gpu), {.grid = {6}}) == said);
  CHECK(fake.launches.empty());
}
