// SPDX-License-Identifier: Apache-2.0
// End to end on a real GPU: gemm through Context, tuning and the records.
#include "ptxloom/gemm.hpp"

#include <fmt/format.h>

#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <optional>
#include <tuple>

#include "ptxloom/ptx.hpp"
#include "support/check_gemm.hpp"
#include "support/gpu.hpp"
#include "support/temporary_folder.hpp"

using namespace ptxloom;

namespace {

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
      CAPTURE(a, m, n, k);
      test::check_gemm(sizes(m, n, k, a), result);
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
  for (const tune::Measurement& one : tuned.search.candidates)
    CHECK((one.problem || one.time_us >= 0.9 * tuned.record->time_us));
  const Gemm again = ptxloom::gemm(context, {.m = 512, .n = 768, .k = 1024, .a = f16});
  CHECK(again.specialised().tuned);
  CHECK(again.config() == tuned.record->config);
}

TEST_CASE("k is split among the thread blocks of a cluster on the GPU, with the same bits each time",
          "[gpu]") {
  const TemporaryFolder folder;
  const Context context = require_gpu(folder);
  if (context.target().number() < 90) SKIP("no clusters on " << context.target().name());
  for (const char* a : {"f16", "bf16", "tf32", "f64", "s8", "e4m3"}) {
    for (const char* split : {"2", "4", "8"}) {
      const RunOptions options{.problem = sizes("72", "1031", "2500", a),
                               .config = {{"strategy", "mma"}, {"split", split}},
                               .seed = Catch::getSeed()};
      const RunResult result = run_template(context, gemm_template(), options);
      CAPTURE(a, split);
      test::check_gemm(options.problem, result);
      CHECK(run_template(context, gemm_template(), options).tensors.back().bytes ==
            result.tensors.back().bytes);
    }
  }
}

TEST_CASE("mma.sync stream-K on the GPU gives the same bits each time", "[gpu]") {
  const TemporaryFolder folder;
  const Context context = require_gpu(folder);
  for (const char* a : {"f16", "bf16", "tf32", "f64", "s8"}) {
    for (const auto& [m, n, k] : {std::tuple("72", "1031", "2500"), std::tuple("256", "256", "65536"),
                                  std::tuple("40", "40", "9"), std::tuple("2000", "2050", "300")}) {
      const RunOptions options{.problem = sizes(m, n, k, a),
                               .config = {{"strategy", "mma"}, {"stream_k", "yes"}},
                               .seed = Catch::getSeed()};
      const RunResult result = run_template(context, gemm_template(), options);
      CAPTURE(a, m, n, k);
      test::check_gemm(options.problem, result);
      CHECK(run_template(context, gemm_template(), options).tensors.back().bytes ==
            result.tensors.back().bytes);
    }
  }
}
