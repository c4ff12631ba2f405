// SPDX-License-Identifier: Apache-2.0
// One search on several GPUs of a host.
#include <fmt/format.h>

#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>

#include "ptxloom/gemm.hpp"
#include "ptxloom/tuner.hpp"
#include "support/gpu.hpp"
#include "support/temporary_folder.hpp"

using namespace ptxloom;

TEST_CASE("the GPUs of a host share a search, and agree", "[gpu]") {
  const TemporaryFolder folder;
  const Context context = require_gpu(folder);
  const std::vector<DeviceInfo> gpus = devices(context.libraries());
  std::vector<std::string> names;
  for (const DeviceInfo& gpu : gpus) {
    if (device_key(gpu) == device_key(gpus.front())) names.push_back(fmt::format("gpu:{}", gpu.ordinal));
  }
  if (names.size() < 2) SKIP("there are not two GPUs of one kind");
  const TuneResult result =
      tune_template(context, gemm_template(),
                    {.problem = {{"m", "2048"}, {"n", "2048"}, {"k", "2048"}, {"a", "bf16"}},
                     .budget = {.evaluations = 60},
                     .seed = Catch::getSeed(),
                     .devices = names});
  REQUIRE(result.record);
  REQUIRE(result.search.devices.size() == names.size());
  std::uint64_t sum = 0;
  for (const tune::Share& one : result.search.devices) {
    INFO(one.name << ", ratio " << one.ratio << ": "
                  << (one.left_out ? to_string(*one.left_out) : "takes part"));
    CHECK(!one.left_out);
    CHECK(one.evaluations >= 60 / (4 * names.size()));
    sum += one.evaluations;
  }
  CHECK(sum <= 60);  // those that could not be linked ran nowhere
}
