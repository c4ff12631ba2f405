// SPDX-License-Identifier: Apache-2.0
// cuBLASLt on a real GPU, verified against gemm's reference and timed in alternation with our winner.
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>

#include "ptxloom/gemm.hpp"
#include "support/gpu.hpp"
#include "support/require.hpp"
#include "support/temporary_folder.hpp"

using namespace ptxloom;

namespace {

/// Skips the test without a GPU or cuBLASLt.
Context require_vendor(const TemporaryFolder& folder) {
  const Context context = require_gpu(folder);
  try {
    context.libraries().cublaslt();
  } catch (const Error& error) {
    test::skip_without("cublaslt", error.diagnostics()[0].message);
  }
  return context;
}

}  // namespace

TEST_CASE("cuBLASLt computes what our reference expects, of every type and layout", "[gpu]") {
  const TemporaryFolder folder;
  require_vendor(folder);
  for (const char* type : {"f16", "bf16", "tf32", "f64", "s8"}) {
    for (const char* a_layout : {"row", "col"}) {
      for (const char* b_layout : {"row", "col"}) {
        const Settings problem = gemm_template().problem({{"m", "272"},
                                                          {"n", "336"},
                                                          {"k", "400"},
                                                          {"a", type},
                                                          {"a_layout", a_layout},
                                                          {"b_layout", b_layout},
                                                          {"lda", "416"},
                                                          {"ldb", "432"},
                                                          {"ldd", "352"}});
        tune::Task task{.tensors = make_tensors(gemm_template(), problem, {}, Catch::getSeed()),
                        .product = gemm_template().product(problem)};
        task.expected = gemm_template().expect(problem, task.tensors);
        const tune::Reading reading = tune::make_worker(task)->measure_vendor(3);
        CAPTURE(type, a_layout, b_layout);
        INFO((reading.problem ? to_string(*reading.problem) : ""));
        // It may support integers in one layout only; what it supports must be right.
        const bool refused = reading.problem && reading.problem->code == "vendor-refused";
        CHECK((!reading.problem || (refused && std::string_view(type) == "s8")));
        CHECK(reading.library.starts_with(refused ? "" : "cuBLASLt 1"));
      }
    }
  }
}

TEST_CASE("tuning times cuBLASLt in alternation with the winner", "[gpu]") {
  const TemporaryFolder folder;
  const Context context = require_vendor(folder);
  const auto tuned = [&](const char* type) {
    return tune_template(context, gemm_template(),
                         {.problem = {{"m", "2048"}, {"n", "2048"}, {"k", "2048"}, {"a", type}},
                          .budget = {.evaluations = 4},
                          .seed = Catch::getSeed(),
                          .vendor = true});
  };
  const TuneResult result = tuned("bf16");
  REQUIRE(result.record);
  REQUIRE(result.vendor);
  INFO((result.vendor->problem ? to_string(*result.vendor->problem) : ""));
  REQUIRE(!result.vendor->problem);
  CHECK(result.vendor->rounds >= 12);
  CHECK(result.vendor->low <= result.vendor->ratio);
  CHECK(result.vendor->ratio <= result.vendor->high);
  CHECK(result.vendor->time_us >= result.least_us);
  // Neither is ten times as fast as the other on this.
  CHECK(result.vendor->ratio > 0.1);
  CHECK(result.vendor->ratio < 10);
  WARN("2048^3 bf16: " << result.record->time_us << " us, " << result.vendor->library << " "
                       << result.vendor->time_us << " us, ratio " << result.vendor->ratio);
  const TuneResult unsigned_bytes = tuned("u8");
  REQUIRE(unsigned_bytes.vendor);
  REQUIRE(unsigned_bytes.vendor->problem);
  CHECK(unsigned_bytes.vendor->problem->code == "vendor-refused");
}
