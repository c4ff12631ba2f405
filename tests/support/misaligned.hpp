// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <set>
#include <string>
#include <vector>

#include "ptxloom/prepared_launch.hpp"
#include "ptxloom/runner.hpp"
#include "ptxloom/templates.hpp"
#include "support/errors.hpp"
#include "support/executor_of.hpp"
#include "support/settings.hpp"

namespace ptxloom::test {

/// Addresses that the kernels of a template cannot take are refused before anything is launched: that of one
/// tensor after the other lies a byte too high. `of_bytes`: tensors that are read byte by byte.
inline void check_misaligned(const char* name, const char* target, const Settings& given,
                             const std::set<std::string>& of_bytes = {}) {
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
    if (of_bytes.contains(plans[wrong].name)) continue;
    std::vector<std::uint64_t> values;
    for (std::size_t i = 0; i < plans.size(); ++i)
      values.push_back(buffers[i].address() + (i == wrong ? 1 : 0));
    INFO(name << " on " << target << ": " << plans[wrong].name << ", " << words(problem));
    CHECK(error_of([&] { launch.launch(nullptr, values); }).code() == "misaligned-operand");
  }
  for (const Buffer& buffer : buffers) {
    std::vector<std::byte> bytes(buffer.size());
    buffer.read(bytes);
    CHECK(std::ranges::all_of(bytes, [](std::byte b) { return b == kPoison; }));
  }
}

}  // namespace ptxloom::test
