// SPDX-License-Identifier: Apache-2.0
// The whole way on a real GPU: gemm through Context, tuning and the records.
#include "ptxloom/gemm.hpp"

#include <fmt/format.h>

#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <optional>
#include <tuple>

#include "ptxloom/ptx.hpp"
#include "support/errors.hpp"
#include "support/temporary_folder.hpp"

using namespace ptxloom;

namespace {

Context require_gpu(const TemporaryFolder& folder) {
  std::optional<Context> context;
  try {
    context.emplace(ContextOptions{
        .device = "gpu", .cache_folder = folder / "cache", .records_folder = folder / "records"});
  } catch (const Error& error) {
    SKIP("no GPU: " << error.diagnostics()[0].message);
  }
  return *context;
}

Settings sizes(const char* m, const char* n, const char* k, const char* a) {
  return {{"m", m}, {"n", n}, {"k", k}, {"a", a}};
}

}  // namespace

TEST_CASE("gemm on the GPU is correct for odd and skinny shapes of every type", "[gpu]") {
  const TemporaryFolder folder;
  const Context context = require_gpu(folder);
  for (const char* a : {"f16", "bf16", "tf32", "f64", "s8", "u8"}) {
    for (const auto& [m, n, k] :
         {std::tuple("1", "1", "1"), std::tuple("17", "4104", "4160"), std::tuple("1023", "1031", "1037")}) {
      const RunResult result =
          run_template(context, gemm_template(), {.problem = sizes(m, n, k, a), .seed = Catch::getSeed()});
      CAPTURE(a, m, n, k, result.verdict.first, result.verdict.unwritten.size());
      CHECK(result.verdict.ok());
    }
  }
}

TEST_CASE("tuning verifies, times and remembers", "[gpu]") {
  const TemporaryFolder folder;
  const Context context = require_gpu(folder);
  Gemm gemm = ptxloom::gemm(context, {.m = 512, .n = 768, .k = 1024, .a = f16});
  CHECK(!gemm.specialised().tuned);
  const TuneResult tuned = gemm.tune({.evaluations = 6});
  REQUIRE(tuned.record);
  CHECK(!tuned.unkept);
  CHECK(tuned.search.evaluations == 6);
  CHECK(tuned.record->time_us > 0.5);
  CHECK(tuned.record->time_us < 1e5);
  REQUIRE(tuned.record->resources);
  CHECK(tuned.record->resources->registers > 0);
  CHECK(gemm.config() == tuned.record->config);
  for (std::size_t i = 1; i < tuned.search.measured.size(); ++i) {
    const auto& before = tuned.search.measured[i - 1];
    const auto& after = tuned.search.measured[i];
    CHECK((before.problem ? after.problem.has_value() : after.problem || before.time_us <= after.time_us));
  }
  const Gemm again = ptxloom::gemm(context, {.m = 512, .n = 768, .k = 1024, .a = f16});
  CHECK(again.specialised().tuned);
  CHECK(again.config() == tuned.record->config);
}

TEST_CASE("a candidate that is wrong or does not link is out, with the reason", "[gpu]") {
  const TemporaryFolder folder;
  const Context context = require_gpu(folder);
  const Settings problem = gemm_template().problem(sizes("64", "64", "64", "f16"));
  const Settings config = gemm_template().config(context.specs(), context.target(), problem, {});
  const Emitted emitted = gemm_template().emit(context, context.target(), problem, config);
  tune::Task task{.tensors = make_tensors(gemm_template(), problem, {}, Catch::getSeed())};
  task.expected = gemm_template().expect(problem, task.tensors);
  const std::string good = print(emitted.module);
  const auto candidate = [&](std::size_t index) -> std::optional<tune::Candidate> {
    tune::Candidate one{.config = {{"number", std::to_string(index)}}, .ptx = good, .launch = emitted.launch};
    if (index == 0) one.ptx += "nonsense";
    if (index == 1) one.launch.grid = {1, 1, 1};  // most of D is never written
    if (index == 2) one.launch.block = {4096, 1, 1};
    return index < 4 ? std::optional(one) : std::nullopt;
  };
  const tune::SearchResult result = tune::search(context.device_context(), context.linker(), task, candidate,
                                                 {.target = std::string(context.target().name())});
  REQUIRE(result.measured.size() == 4);
  REQUIRE(result.best() != nullptr);
  CHECK(result.best()->config.at("number") == "3");
  for (const tune::Measurement& measurement : result.measured) {
    const std::string& number = measurement.config.at("number");
    if (number == "0") CHECK(measurement.problem->code == "link-failed");
    if (number == "1") CHECK(measurement.problem->code == "wrong-result");
    if (number == "2") CHECK(measurement.problem->code == "launch-config");
  }
}
