// SPDX-License-Identifier: Apache-2.0
// What quantize refuses, and what its reference notices.
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstring>

#include "quantize/naive.hpp"

using namespace ptxloom;
using Catch::Matchers::ContainsSubstring;
using test::with;

namespace {

const Settings kSmallMatrix{{"rows", "4"}, {"n", "100"}};

std::string quantize_refusal(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "it was accepted";
}

std::string refused_matrix(const char* format, const Settings& more) {
  return quantize_refusal(
      [&] { test::quantize().problem(with(with(kSmallMatrix, more), {{"format", format}})); });
}

std::string refused_target(const char* format, const char* target, const Settings& config = {}) {
  const Specs specs;
  const Settings problem = test::quantize().problem(with(kSmallMatrix, {{"format", format}}));
  return quantize_refusal([&] { test::quantize().config(specs, Target(target), problem, config); });
}

Verdict verdict_of(const RunResult& run, std::string_view name, const HostTensor& output) {
  std::vector<HostTensor> inputs;
  for (const HostTensor& tensor : run.tensors)
    if (tensor.plan.role != TensorPlan::Role::out) inputs.push_back(tensor);
  for (const Expectation& expected : test::quantize().expect(run.kernel.problem, inputs))
    if (expected.tensor == name) return verify(expected, output);
  throw Error(ErrorKind::usage, "no-expectation", std::string(name));
}

}  // namespace

TEST_CASE("quantize: problems that make no sense are refused in words that say what to do") {
  CHECK_THAT(refused_matrix("s8", {{"rows", "0"}}), ContainsSubstring("rows"));
  CHECK_THAT(refused_matrix("s8", {{"n", "2000000000"}}), ContainsSubstring("at most 2^30 elements"));
  CHECK_THAT(refused_matrix("s8", {{"pitch_x", "99"}}), ContainsSubstring("shorter than a row of 100"));
  CHECK_THAT(refused_matrix("s8", {{"rows", "2147483647"}, {"pitch_x", "2147483647"}}),
             ContainsSubstring("at most 2^44 elements"));
  CHECK_THAT(refused_matrix("mxfp5", {}), ContainsSubstring("mxfp8_e4m3"));
  CHECK_THAT(refused_matrix("mxfp4", {{"pitch_y", "101"}}), ContainsSubstring("give a multiple of 2"));
  CHECK_THAT(refused_matrix("mxfp6_e2m3", {{"pitch_y", "102"}}), ContainsSubstring("give a multiple of 4"));
  CHECK_THAT(refused_matrix("mxfp4", {{"group", "16"}}), ContainsSubstring("use group=32"));
  CHECK_THAT(refused_matrix("nvfp4", {{"scales", "row"}}), ContainsSubstring("use scales=group"));
  CHECK_THAT(refused_matrix("nvfp4", {{"scale_round", "down"}}),
             ContainsSubstring("use scale_round=nearest"));
  CHECK_THAT(refused_matrix("mxfp4", {{"scale_round", "nearest"}}), ContainsSubstring("use down or up"));
  CHECK_THAT(refused_matrix("s8", {{"scale_round", "up"}}), ContainsSubstring("use scale_round=nearest"));
  CHECK_THAT(refused_matrix("s8", {{"group", "64"}}), ContainsSubstring("use scales=group"));
  CHECK_THAT(refused_matrix("s8", {{"group", "48"}, {"scales", "group"}}), ContainsSubstring("64"));
  CHECK_THAT(quantize_refusal([] { test::quantize().problem({{"rows", "1"}, {"n", "1"}}); }),
             ContainsSubstring("give the parameters rows, n and format"));
}

TEST_CASE("quantize: targets without conversions to a format take it, too") {
  for (const char* format : {"s4", "e4m3", "mxfp8_e5m2", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp4", "nvfp4"})
    for (const char* target : {"sm_75", "sm_86", "sm_89", "sm_90a", "sm_100"})
      CHECK(refused_target(format, target) == "it was accepted");
}

TEST_CASE("quantize: configurations that do not fit are refused with the rule that they break") {
  CHECK_THAT(refused_target("mxfp8_e4m3", "sm_90a", {{"team", "block"}}),
             ContainsSubstring("team=block is for scales=row and"));
  CHECK_THAT(refused_target("mxfp4", "sm_100a", {{"vector", "1"}}), ContainsSubstring("whole bytes of y"));
  CHECK_THAT(refused_target("nvfp4", "sm_100a", {{"vector", "32"}}),
             ContainsSubstring("more elements than a group"));
  CHECK_THAT(refused_target("mxfp8_e4m3", "sm_100a", {{"vector", "4"}, {"lanes", "4"}}),
             ContainsSubstring("in the lanes of one team"));
}

TEST_CASE(
    "quantize: the reference notices a wrong element, a missing one, a wrong scale and written padding") {
  for (const char* format : {"s8", "s4", "e4m3", "mxfp8_e5m2", "mxfp6_e2m3", "mxfp4", "nvfp4"}) {
    INFO(format);
    const RunResult run = test::run_quantize(
        {{"format", format}, {"rows", "5"}, {"n", "333"}, {"pitch_y", "344"}, {"x", "f32"}});
    const HostTensor &y = test::tensor_of(run, "y"), &scale = test::tensor_of(run, "scale");
    REQUIRE(verdict_of(run, "y", y).ok());
    const std::uint64_t all = (std::uint64_t{1} << y.plan.type.bits) - 1;
    for (const std::size_t index : {0, 332, 2 * 344 + 100, 4 * 344 + 332}) {
      HostTensor wrong = y;
      const std::uint64_t code = test::narrow::load(y.plan.type, y.bytes, index);
      // Another value, also where the element is zero.
      test::narrow::store(y.plan.type, wrong.bytes, index, (code ^ 1) & all);
      CHECK_FALSE(verdict_of(run, "y", wrong).ok());
    }
    HostTensor written = y;
    written.bytes[(2 * 344 + 340) * y.plan.type.bits / 8] = std::byte{0};
    CHECK_FALSE(verdict_of(run, "y", written).ok());
    for (std::size_t index = 0; index < scale.plan.elements(); ++index) {
      HostTensor wrong = scale;
      wrong.bytes[index * static_cast<std::size_t>(scale.plan.type.bytes())] ^= std::byte{1};
      CHECK_FALSE(verdict_of(run, "scale", wrong).ok());
    }
  }
}

TEST_CASE("quantize: of a large problem rows are compared as a sample, and all must be written") {
  const RunResult run =
      run_template(test::quantize_executor("sm_100a"), test::quantize(),
                   {.problem = {{"format", "mxfp8_e4m3"}, {"rows", "5003"}, {"n", "1001"}}, .seed = 1});
  CHECK(run.verdict.ok());
  CHECK(run.verdict.checked > 4'000'000);
  for (const std::size_t row : {1, 2500, 5002}) {
    HostTensor wrong = test::tensor_of(run, "y");
    std::memset(wrong.bytes.data() + row * 1001, 0xa5, 1001);
    CHECK_FALSE(verdict_of(run, "y", wrong).ok());
  }
}

TEST_CASE("quantize: a launch says how its tensors are aligned") {
  const auto specs = std::make_shared<const Specs>();
  const Settings problem = test::quantize().problem(with(kSmallMatrix, {{"format", "nvfp4"}}));
  const Target target("sm_100a");
  const Emitted emitted =
      test::quantize().emit(specs, target, problem, test::quantize().config(*specs, target, problem, {}));
  std::map<std::string, std::uint32_t> alignments;
  for (const ArgumentPlan& argument : emitted.launches.at(0).arguments)
    if (!argument.tensor.empty()) alignments[argument.tensor] = argument.alignment;
  CHECK(alignments ==
        std::map<std::string, std::uint32_t>{{"x", 16}, {"y", 16}, {"scale", 1}, {"tensor_scale", 4}});
}
