// SPDX-License-Identifier: Apache-2.0
// What rowwise refuses, and what its reference notices.
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstring>

#include "rowwise/naive.hpp"

using namespace ptxloom;
using Catch::Matchers::ContainsSubstring;
using test::with;

namespace {

const Settings kSmall{{"op", "softmax"}, {"rows", "4"}, {"n", "10"}};

std::string refusal(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "it was accepted";
}

std::string refused_problem(const Settings& more) {
  return refusal([&] { test::rowwise().problem(with(kSmall, more)); });
}

std::string refused_config(const Settings& problem, const Settings& config, const char* target = "sm_90a") {
  const Specs specs;
  return refusal(
      [&] { test::rowwise().config(specs, Target(target), test::rowwise().problem(problem), config); });
}

Verdict verdict_of(const RunResult& run, const HostTensor& y) {
  const auto inputs = std::span(run.tensors).first(run.tensors.size() - 1);
  return verify(test::rowwise().expect(run.kernel.problem, inputs).at(0), y);
}

}  // namespace

TEST_CASE("rowwise: problems that make no sense are refused in words that say what to do") {
  CHECK_THAT(refused_problem({{"rows", "0"}}), ContainsSubstring("rows"));
  CHECK_THAT(refused_problem({{"n", "0"}}), ContainsSubstring("n"));
  CHECK_THAT(refused_problem({{"n", "2000000000"}}), ContainsSubstring("at most 2^30 elements"));
  CHECK_THAT(refused_problem({{"pitch_x", "9"}}),
             ContainsSubstring("give at least 10, or 0 for contiguous rows"));
  CHECK_THAT(refused_problem({{"pitch_y", "9"}}), ContainsSubstring("pitch_y=9 is shorter than a row of 10"));
  CHECK_THAT(refused_problem({{"rows", "2147483647"}, {"pitch_x", "2147483647"}}),
             ContainsSubstring("at most 2^44 elements"));
  CHECK_THAT(refused_problem({{"x", "e4m3"}}), ContainsSubstring("f32") && ContainsSubstring("bf16"));
  CHECK_THAT(refused_problem({{"op", "relu"}}), ContainsSubstring("layer_norm"));
  CHECK_THAT(refused_problem({{"weight", "f32"}}), ContainsSubstring("use op=rms_norm or op=layer_norm"));
  CHECK_THAT(refused_problem({{"op", "rms_norm"}, {"eps", "-1"}}), ContainsSubstring("eps=-1 is negative"));
  CHECK_THAT(refusal([] { test::rowwise().problem({{"op", "softmax"}, {"rows", "1"}}); }),
             ContainsSubstring("give the parameters op, rows and n"));
}

TEST_CASE("rowwise: configurations that do not fit are refused with the rule that they break") {
  const Settings large = with(kSmall, {{"n", "5000"}});
  CHECK_THAT(refused_config(large, {{"team", "block"}, {"lanes", "8"}}),
             ContainsSubstring("lanes must be 32"));
  CHECK_THAT(refused_config(large, {{"team", "cluster"}, {"blocks", "2"}}, "sm_80"),
             ContainsSubstring("does not have"));
  CHECK_THAT(refused_config(with(large, {{"x", "f32"}}), {{"vector", "8"}}),
             ContainsSubstring("16 bytes of x"));
  CHECK_THAT(refused_config(
                 kSmall,
                 {{"team", "block"}, {"lanes", "32"}, {"threads", "1024"}, {"blocks", "1"}, {"vector", "1"}}),
             ContainsSubstring("too few elements for so many threads"));
  for (const char* y : {"f16", "bf16"})
    CHECK(refused_config(with(kSmall, {{"y", y}}), {}, "sm_75") == "it was accepted");
}

TEST_CASE("rowwise: the reference notices a wrong element, a missing one and written padding") {
  for (const char* op : {"softmax", "log_softmax", "rms_norm", "layer_norm"})
    for (const char* type : {"f32", "bf16"}) {
      INFO(op << ' ' << type);
      const RunResult run = test::run_rowwise(
          {{"op", op}, {"rows", "5"}, {"n", "333"}, {"pitch_y", "340"}, {"x", type}, {"y", type}});
      const HostTensor& y = run.tensors.back();
      REQUIRE(verdict_of(run, y).ok());
      const auto size = static_cast<std::size_t>(y.plan.type.bytes());
      for (const std::size_t index : {0, 332, 2 * 340 + 100, 4 * 340 + 332}) {
        HostTensor wrong = y;
        const double value = decode(y.plan.type, load_element(y.plan.type, y.bytes, index));
        store_element(y.plan.type, wrong.bytes, index, encode(y.plan.type, value * 1.03 + 1e-4));
        CHECK_FALSE(verdict_of(run, wrong).ok());
        std::memset(wrong.bytes.data() + index * size, 0xa5, size);
        CHECK_FALSE(verdict_of(run, wrong).ok());
      }
      HostTensor wrong = y;
      wrong.bytes[(2 * 340 + 335) * size] = std::byte{0};
      CHECK_FALSE(verdict_of(run, wrong).ok());
    }
}

TEST_CASE("rowwise: of a large problem rows are compared as a sample, and all must be written") {
  const RunResult run = run_template(
      test::rowwise_executor(), test::rowwise(),
      {.problem = {{"op", "rms_norm"}, {"rows", "5003"}, {"n", "1001"}, {"y", "f32"}}, .seed = 1});
  CHECK(run.verdict.ok());
  CHECK(run.verdict.checked > 4'000'000);
  for (const std::size_t row : {1, 2500, 5002}) {
    HostTensor wrong = run.tensors.back();
    std::memset(wrong.bytes.data() + row * 1001 * 4, 0xa5, 1001 * 4);
    CHECK_FALSE(verdict_of(run, wrong).ok());
  }
}
