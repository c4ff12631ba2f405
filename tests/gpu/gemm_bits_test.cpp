// SPDX-License-Identifier: Apache-2.0
// The gemm template on a GPU: every layout and random configurations against the definition, and the
// hardware's arithmetic bit by bit against the CPU executor's.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <optional>
#include <random>

#include "ptxloom/gemm.hpp"
#include "ptxloom/runner.hpp"
#include "support/check_gemm.hpp"
#include "support/require.hpp"
#include "support/settings.hpp"

using namespace ptxloom;
using test::words;

namespace {

Context gpu() {
  std::optional<Context> context;
  try {
    context.emplace(ContextOptions{.device = "gpu"});
  } catch (const Error& error) {
    test::skip_without("gpu", "there is no GPU: " + error.diagnostics()[0].message);
  }
  return *context;
}

Settings problem(std::array<int, 3> mnk, const Settings& more) {
  Settings words = {
      {"m", std::to_string(mnk[0])}, {"n", std::to_string(mnk[1])}, {"k", std::to_string(mnk[2])}};
  words.insert(more.begin(), more.end());
  return words;
}

void check_gemm(const Context& context, const Settings& wanted, const Settings& config = {}) {
  const std::uint64_t seed = std::random_device{}();
  INFO(words(wanted) << "| " << words(config) << "| seed " << seed);
  try {
    const RunResult result = run_template(context, gemm_template(),
                                          {.problem = wanted, .config = config, .inputs = {}, .seed = seed});
    test::check_gemm(wanted, result);
  } catch (const Error& error) {
    FAIL_CHECK(error.what());
  }
}

constexpr std::array kTypes = {"f16", "bf16", "tf32", "f64", "s8", "u8"};

}  // namespace

TEST_CASE("gemm on the GPU computes D in every layout", "[gpu]") {
  const Context context = gpu();
  for (const char* type : kTypes)
    for (const char* a_layout : {"row", "col"})
      for (const char* b_layout : {"row", "col"})
        for (const auto& mnk : {std::array{257, 193, 301}, {512, 384, 256}})
          check_gemm(
              context,
              problem(mnk, {{"a", type}, {"a_layout", a_layout}, {"b_layout", b_layout}, {"beta", "1"}}));
}

TEST_CASE("random configurations of gemm are right on the GPU", "[gpu]") {
  const Context context = gpu();
  std::mt19937 random(std::random_device{}());
  for (const char* type : kTypes)
    for (int i = 0; i < 25; ++i) {
      const auto size = [&] { return static_cast<int>(1 + random() % 700); };
      const auto layout = [&] { return random() % 2 == 0 ? "row" : "col"; };
      const Settings words =
          problem({size(), size(), size()}, {{"a", type}, {"a_layout", layout()}, {"b_layout", layout()}});
      const auto configs =
          gemm_template().candidates(context.specs(), context.target(), gemm_template().problem(words), {});
      REQUIRE(!configs.empty());
      check_gemm(context, words, configs[random() % configs.size()]);
    }
}

TEST_CASE("the GPU and the executor agree bit by bit on gemm", "[gpu]") {
  const Context context = gpu();
  const Context executor({.device = "cpu", .cpu_target = std::string(context.target().name())});
  for (const char* type : kTypes)
    for (const auto& mnk : {std::array{64, 64, 256}, {45, 39, 171}}) {
      const bool integer = std::string_view(type).ends_with('8');
      const Settings wanted = problem(mnk, {{"a", type}, {"alpha", integer ? "3" : "0.7"}});
      const std::uint64_t seed = std::random_device{}();
      INFO(words(wanted) << "seed " << seed);
      const RunResult there = run_template(context, gemm_template(),
                                           {.problem = wanted, .config = {}, .inputs = {}, .seed = seed});
      const RunResult here =
          run_template(executor, gemm_template(),
                       {.problem = wanted, .config = there.kernel.config, .inputs = {}, .seed = seed});
      REQUIRE(there.tensors.back().plan.name == "d");
      CHECK(there.tensors.back().bytes == here.tensors.back().bytes);
    }
}
