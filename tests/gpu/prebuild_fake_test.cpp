// SPDX-License-Identifier: Apache-2.0
// What is linked ahead of time for a tuning record is what a device asks for later. The driver is a fake that
// only records calls.
#include <catch2/catch_test_macros.hpp>

#include "ptxloom/gemm.hpp"
#include "ptxloom/runner.hpp"
#include "support/fake_driver.hpp"
#include "support/require.hpp"
#include "support/temporary_folder.hpp"

using namespace ptxloom;

namespace {

Record record_for(const Context& context, Settings problem, Settings config) {
  return {.device = device_key(context.device()),
          .kernel_template = "gemm",
          .problem = gemm_template().problem(problem),
          .config = std::move(config),
          .time_us = 1};
}

/// From now on the fake driver has this kernel.
void expect_kernel(FakeCuda& fake, const Context& context, const Settings& problem, const Settings& config) {
  const Emitted emitted = gemm_template().emit(context, context.target(), problem, config);
  fake.kernel = emitted.launches.front().entry;
  fake.parameters.clear();
  for (const auto& parameter : ir::signature(emitted.module.functions.front()).parameters)
    fake.parameters.emplace_back(parameter.offset, parameter.size);
}

}  // namespace

TEST_CASE("a kernel linked ahead of time for a record is found in the cache on the device") {
  FakeCuda& fake = fresh_fake();
  const TemporaryFolder folder;
  const Context context({.device = "gpu",
                         .cache_folder = folder / "cache",
                         .records_folder = folder / "records",
                         .libraries = {.folders = {fake_driver_folder()}}});
  if (!context.libraries().has_nvjitlink()) test::skip_without("nvjitlink", "there is no nvJitLink");
  const Template& gemm = gemm_template();
  const Settings problem = gemm.problem({{"m", "128"}, {"n", "96"}, {"k", "64"}, {"a", "f16"}});
  const std::vector<Settings> configs = gemm.candidates(context.specs(), context.target(), problem, {});
  REQUIRE(configs.size() > 3);
  const Record good = record_for(context, problem, configs[3]);
  const Record bad = record_for(context, problem, {{"no such word", "1"}});
  context.records().add(good);

  // A machine without a GPU has the cache and the linker, and no context.
  const Linker linker(Libraries{}, Cache(folder / "cache"));
  const std::vector<Record> records{good, bad};
  const auto specs = std::make_shared<const Specs>();
  const std::vector<Prebuilt> built = prebuild(specs, gemm, specs->target("sm_90a"), linker, records);
  REQUIRE(built.size() == 2);
  CHECK(!built[0].cached);
  CHECK(!built[0].problem);
  REQUIRE(built[1].problem);
  CHECK(built[1].problem->code == "unknown-parameter");
  CHECK(prebuild(specs, gemm, specs->target("sm_90a"), linker, records)[0].cached);

  expect_kernel(fake, context, problem, configs[3]);
  const Specialised loaded = specialise(context, gemm, problem);
  CHECK(loaded.tuned);
  CHECK(loaded.config == configs[3]);
  CHECK(loaded.kernels.front().cached());
}

TEST_CASE("records of other problems do not change the configuration of an untuned one") {
  FakeCuda& fake = fresh_fake();
  const TemporaryFolder folder;
  const Context context({.device = "gpu",
                         .cache_folder = folder / "cache",
                         .records_folder = folder / "records",
                         .libraries = {.folders = {fake_driver_folder()}}});
  if (!context.libraries().has_nvjitlink()) test::skip_without("nvjitlink", "there is no nvJitLink");
  const Template& gemm = gemm_template();
  const auto sized = [&](const char* m) {
    return gemm.problem({{"m", m}, {"n", "96"}, {"k", "64"}, {"a", "f16"}});
  };
  const Settings asked = sized("160");
  const Settings own = gemm.config(context.specs(), context.target(), asked, {});
  for (const char* m : {"128", "159", "4096"}) {
    const Settings problem = sized(m);
    const auto configs = gemm.candidates(context.specs(), context.target(), problem, {});
    REQUIRE(configs[5] != own);
    context.records().add(record_for(context, problem, configs[5]));
  }
  expect_kernel(fake, context, asked, own);
  const Specialised chosen = specialise(context, gemm, asked);
  CHECK(!chosen.tuned);
  CHECK(chosen.config == own);
}
