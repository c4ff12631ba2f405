// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "ptxloom/context.hpp"
#include "ptxloom/gemm.hpp"
#include "ptxloom/runner.hpp"
#include "support/check_gemm.hpp"
#include "support/settings.hpp"

namespace ptxloom::test {

/// The CPU executor as a device with this target.
inline const Context& executor(const std::string& target = "sm_90a") {
  static std::map<std::string, Context> contexts;
  const auto known = contexts.find(target);
  if (known != contexts.end()) return known->second;
  return contexts.emplace(target, Context({.device = "cpu", .cpu_target = target})).first->second;
}

/// Runs a gemm in the executor with judging, and compares every element with the template's reference and
/// with the tests' own. Inputs that are not given are random.
inline RunResult run_gemm(const Settings& problem, const Settings& config,
                          const std::vector<HostTensor>& inputs = {}, const std::string& target = "sm_90a") {
  INFO("problem " << words(problem) << ", config " << words(config) << " on " << target << ", seed "
                  << Catch::getSeed());
  RunResult result =
      run_template(executor(target), gemm_template(),
                   {.problem = problem, .config = config, .inputs = inputs, .seed = Catch::getSeed()});
  check_gemm(problem, result);
  return result;
}

/// An s32 tensor of a gemm.
inline HostTensor numbers(const Settings& problem, std::string_view name,
                          const std::vector<std::int32_t>& values) {
  for (const TensorPlan& plan : gemm_template().tensors(gemm_template().problem(problem))) {
    if (plan.name != name) continue;
    REQUIRE(plan.elements() == values.size());
    HostTensor made{plan, std::vector<std::byte>(plan.bytes())};
    std::memcpy(made.bytes.data(), values.data(), made.bytes.size());
    return made;
  }
  throw Error(ErrorKind::usage, "no-tensor", std::string(name));
}

/// Why gemm refuses a configuration.
inline std::string config_refusal(const Settings& problem, const Settings& config,
                                  const std::string& target = "sm_90a") {
  try {
    gemm_template().config(executor().specs(), Target(target), gemm_template().problem(problem), config);
  } catch (const Error& error) {
    return error.what();
  }
  return "it was accepted";
}

/// Checks that a kernel with a workspace gives the same bits repeatedly, on its own workspace and on another.
inline void check_launched_again(const Gemm& kernel) {
  const Context& context = executor();
  REQUIRE(kernel.workspace_bytes() > 0);
  Buffer other = context.alloc(kernel.workspace_bytes());
  other.fill(std::byte{0});
  const std::vector<HostTensor> tensors = make_tensors(gemm_template(), kernel.problem(), {}, 7);
  std::vector<float> first;
  for (int turn = 0; turn < 3; ++turn)
    for (const bool given : {false, true}) {
      Buffer a = context.alloc(tensors[0].bytes.size()), b = context.alloc(tensors[1].bytes.size()),
             d = context.alloc(tensors.back().bytes.size());
      a.write(tensors[0].bytes), b.write(tensors[1].bytes), d.fill(kPoison);
      GemmOperands operands{.a = a, .b = b, .d = d};
      if (given) operands.workspace = other;
      kernel.launch(nullptr, operands);
      context.synchronize();
      std::vector<float> result(tensors.back().bytes.size() / sizeof(float));
      d.copy_to(result);
      if (first.empty()) first = result;
      CHECK(result == first);
    }
}

}  // namespace ptxloom::test
