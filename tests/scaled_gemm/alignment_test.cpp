// SPDX-License-Identifier: Apache-2.0
// Addresses that the kernels of scaled_gemm, shuffle_weights and sparse_gemm cannot take are refused before
// anything is launched: each tensor that is read or written in more than single bytes, one after the other.
#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "ptxloom/error.hpp"
#include "ptxloom/prepared_launch.hpp"
#include "ptxloom/runner.hpp"
#include "scaled_gemm/weight_case.hpp"

namespace ptxloom::scaled_gemm_test::alignment {
namespace {

std::string code_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.code();
  }
  return "none";
}

void check(const char* name, const char* target, const Settings& given) {
  static const Templates all;
  const Template& what = all.find(name);
  const Context& context = executor_of(target);
  const Settings problem = what.problem(given);
  const Specialised made = specialise(context, what, problem);
  const std::vector<TensorPlan> plans = what.tensors(problem);
  std::vector<Buffer> buffers;
  std::vector<std::string_view> names;
  for (const TensorPlan& plan : plans) {
    buffers.push_back(context.alloc(plan.bytes() + 32));
    buffers.back().fill(kPoison);
    names.push_back(plan.name);
  }
  const PreparedLaunch launch(made.kernels, made.launches, context.device().sms, names);
  for (std::size_t wrong = 0; wrong < plans.size(); ++wrong) {
    if (plans[wrong].type.bits == 8 && plans[wrong].name == "zero") continue;  // bytes, read one by one
    if (plans[wrong].name == "x") continue;                                    // as well
    std::vector<std::uint64_t> values;
    for (std::size_t i = 0; i < plans.size(); ++i)
      values.push_back(buffers[i].address() + (i == wrong ? 1 : 0));
    INFO(name << " on " << target << ": " << plans[wrong].name << ", " << test::words(problem));
    CHECK(code_of([&] { launch.launch(nullptr, values); }) == "misaligned-operand");
  }
  for (const Buffer& buffer : buffers) {
    std::vector<std::byte> bytes(buffer.size());
    buffer.read(bytes);
    CHECK(std::ranges::all_of(bytes, [](std::byte b) { return b == kPoison; }));
  }
}

}  // namespace

TEST_CASE(
    "scaled_gemm, shuffle_weights, sparse_gemm: misaligned tensors are refused before anything is launched") {
  const Settings size{{"m", "40"}, {"n", "64"}, {"k", "128"}};
  for (const char* d : {"bf16", "f32"}) {
    const Settings all = test::with(size, {{"d", d}, {"bias", "f32"}, {"c", "f16"}, {"row_weights", "yes"}});
    for (const char* target : {"sm_90a", "sm_80"}) {
      check("scaled_gemm", target,
            test::with(all, {{"format_a", "bf16"}, {"format_b", "u4"}, {"scale_b", "f32"}}));
      check("scaled_gemm", target, test::with(all, {{"format_a", "s8"}, {"format_b", "s4"}}));
      check("sparse_gemm", target, test::with(size, {{"d", d}, {"bias", "f32"}, {"c", "f16"}}));
    }
    check("scaled_gemm", "sm_120a", test::with(all, {{"format_a", "nvfp4"}}));
  }
  check("shuffle_weights", "sm_80", {{"n", "64"}, {"k", "128"}, {"format", "u4"}, {"scale", "f32"}});
}

}  // namespace ptxloom::scaled_gemm_test::alignment
