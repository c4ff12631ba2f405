// SPDX-License-Identifier: Apache-2.0
// What the tuner is told of candidates by their machine code.
#include "api/code_model.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>

#include "ptxloom/gemm.hpp"
#include "ptxloom/ptx.hpp"
#include "ptxloom/templates.hpp"
#include "support/require.hpp"

namespace ptxloom::api::code_model_test {

using Catch::Matchers::WithinRel;

namespace {

struct Linked {
  tune::Candidate candidate;
  tune::Demand demand;
};

Linked linked(const Template& made, const Settings& given, const Settings& config) {
  const auto specs = std::make_shared<const Specs>();
  const Target target("sm_90a");
  const Settings problem = made.problem(given);
  const Settings whole = made.config(*specs, target, problem, config);
  Emitted emitted = made.emit(specs, target, problem, whole);
  const Libraries libraries;
  if (!libraries.has_nvjitlink()) test::skip_without("nvjitlink", "nvJitLink is not installed");
  Linked result{.candidate = {.launches = std::move(emitted.launches)},
                .demand = made.tuning_space(*specs, target, problem).demand(whole)};
  result.candidate.cubin = Linker(libraries).link(print(emitted.module), {.target = "sm_90a"}).cubin;
  return result;
}

Settings square(int size, const std::string& type) {
  const std::string text = std::to_string(size);
  return {{"m", text}, {"n", text}, {"k", text}, {"a", type}};
}

DeviceInfo device_at(int clock_mhz) {
  DeviceInfo device;
  device.sms = 132;
  device.clock_mhz = clock_mhz;
  return device;
}

}  // namespace

TEST_CASE("machine code tells how long a product takes") {
  const tune::CodeModel model = code_model(Target("sm_90a"), device_at(1830));
  const auto us_of = [&](const Settings& config) {
    const Linked one = linked(gemm_template(), square(4096, "f16"), config);
    const std::optional<double> us = model(one.candidate, one.demand);
    REQUIRE(us);
    return *us;
  };
  const double large = us_of({{"strategy", "wgmma"}, {"tile_m", "128"}, {"tile_n", "256"}, {"tile_k", "64"}});
  const double narrow = us_of({{"strategy", "wgmma"}, {"tile_m", "128"}, {"tile_n", "64"}, {"tile_k", "64"}});
  const double warps = us_of({{"strategy", "mma"}, {"tile_m", "128"}, {"tile_n", "128"}, {"tile_k", "32"}});
  CAPTURE(large, narrow, warps);
  // The peak of an H200 at this clock, 989 TFLOP/s, is the least; twice that is more than any of our kernels
  // takes.
  const double least = 2.0 * 4096 * 4096 * 4096 / 989e12 * 1e6;
  CHECK(large > least);
  CHECK(large < 2 * least);
  CHECK(narrow > 1.2 * large);  // A is read for each of four times as many columns
  CHECK(warps > 1.2 * large);   // mma.sync reaches two thirds of wgmma
}

TEST_CASE("a slower clock makes it longer, and nothing is said of what has no loop that counts") {
  const Linked one = linked(gemm_template(), square(2048, "bf16"), {});
  const double fast = *code_model(Target("sm_90a"), device_at(1800))(one.candidate, one.demand);
  const double slow = *code_model(Target("sm_90a"), device_at(900))(one.candidate, one.demand);
  CHECK_THAT(slow, WithinRel(2 * fast, 0.15));
  const tune::CodeModel model = code_model(Target("sm_90a"), std::nullopt);
  CHECK(model(one.candidate, one.demand));
  CHECK_FALSE(model(one.candidate, {}));
  CHECK_FALSE(model({.cubin = one.candidate.cubin, .launches = {}}, one.demand));
  tune::Candidate other = one.candidate;
  other.launches.front().entry = "another";
  CHECK_FALSE(model(other, one.demand));
  const Linked rows =
      linked(Templates().find("rowwise"), {{"op", "softmax"}, {"rows", "512"}, {"n", "4096"}}, {});
  CHECK_FALSE(model(rows.candidate, rows.demand));
  other.cubin.assign(100, std::byte{7});
  CHECK_THROWS_AS(model(other, one.demand), Error);  // the tuner goes on without
}

}  // namespace ptxloom::api::code_model_test
