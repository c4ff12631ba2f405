// SPDX-License-Identifier: Apache-2.0
// Programs that must neither search nor link at run time: anything missing is refused, and nothing is made.
// The driver is a fake that only records calls.
#include <catch2/catch_test_macros.hpp>

#include "ptxloom/gemm.hpp"
#include "support/errors.hpp"
#include "support/fake_driver.hpp"
#include "support/require.hpp"
#include "support/temporary_folder.hpp"

namespace ptxloom::test::must_hit_fake_test {
namespace {

struct Rig {
  FakeCuda& fake = fresh_fake();
  TemporaryFolder folder;
  Context context{{.device = "gpu",
                   .cache_folder = folder / "cache",
                   .records_folder = folder / "records",
                   .libraries = {.folders = {fake_driver_folder()}}}};
  const Template& gemm = gemm_template();
  Settings problem = gemm.problem({{"m", "128"}, {"n", "96"}, {"k", "64"}, {"a", "f16"}});

  Rig() {
    if (!context.libraries().has_nvjitlink()) test::skip_without("nvjitlink", "there is no nvJitLink");
  }
  Settings config(std::size_t i) const {
    return gemm.candidates(context.specs(), context.target(), problem, {}).at(i);
  }
  Record record(Settings of, Settings config) const {
    return {.device = device_key(context.device()),
            .kernel_template = "gemm",
            .problem = std::move(of),
            .config = std::move(config),
            .time_us = 1,
            .evaluations = 9};
  }
  Diagnostic refusal(const Settings& config = {}) const {
    const Error error = error_of([&] { specialise(context, gemm, problem, config, {.must_hit = true}); });
    CHECK(error.kind() == ErrorKind::refused);
    return error.diagnostics().front();
  }
};

}  // namespace

TEST_CASE("must_hit returns the recorded kernel from the cache, or an error") {
  Rig rig;
  const Settings config = rig.config(3);
  CHECK(rig.refusal().code == "no-record");
  // The record of another problem does not count, but the message names it.
  const Settings near = rig.gemm.problem({{"m", "160"}, {"n", "96"}, {"k", "64"}, {"a", "f16"}});
  rig.context.records().add(rig.record(near, config));
  const Diagnostic refusal = rig.refusal();
  CHECK(refusal.code == "no-record");
  CHECK(refusal.hint.find("m=160") != std::string::npos);

  const Record known = rig.record(rig.problem, config);
  rig.context.records().add(known);
  CHECK(rig.refusal().code == "not-cached");
  CHECK(rig.context.linker().cache().stat().entries == 0);

  const Record records[] = {known};
  prebuild(rig.context, rig.gemm, rig.context.target(), rig.context.linker(), records);
  const Emitted emitted = rig.gemm.emit(rig.context, rig.context.target(), rig.problem, config);
  rig.fake.kernel = emitted.launches.front().entry;
  for (const auto& parameter : ir::signature(emitted.module.functions.front()).parameters)
    rig.fake.parameters.emplace_back(parameter.offset, parameter.size);
  const Gemm hit = gemm(rig.context, {.m = 128, .n = 96, .k = 64, .a = f16}, {}, {.must_hit = true});
  CHECK(hit.specialised().tuned);
  CHECK(hit.specialised().kernels.front().cached());
  CHECK(hit.config() == config);

  const Settings other{{"stages", config.at("stages") == "2" ? "3" : "2"}};
  CHECK(rig.refusal(other).code == "no-record");
}

TEST_CASE("tuning with must_hit looks the record up and searches nothing") {
  const Rig rig;
  const TuneOptions options{.problem = rig.problem, .must_hit = true};
  const Error error = error_of([&] { tune_template(rig.context, rig.gemm, options); });
  CHECK(error.kind() == ErrorKind::refused);
  CHECK(error.diagnostics().front().code == "no-record");
  rig.context.records().add(rig.record(rig.problem, rig.config(2)));
  const TuneResult found = tune_template(rig.context, rig.gemm, options);
  CHECK(found.source == TuneResult::Source::record);
  REQUIRE(found.record);
  CHECK(found.record->config == rig.config(2));
  CHECK(found.search.candidates.empty());
  CHECK(found.problem == rig.problem);
}

TEST_CASE("the executor refuses must_hit") {
  const Context context({.device = "cpu"});
  const Error error =
      error_of([&] { gemm(context, {.m = 8, .n = 8, .k = 8, .a = f16}, {}, {.must_hit = true}); });
  CHECK(error.kind() == ErrorKind::missing);
  CHECK(error.diagnostics().front().code == "no-device");
}

}  // namespace ptxloom::test::must_hit_fake_test
