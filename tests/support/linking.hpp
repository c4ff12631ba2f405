// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <memory>
#include <string>

#include "ptxloom/jit.hpp"
#include "ptxloom/ptx.hpp"
#include "ptxloom/templates.hpp"
#include "support/settings.hpp"

// Kernels of templates, linked by nvJitLink.
namespace ptxloom::test {

/// A problem's kernel links without a remark (such as that wgmma is serialised) and does not spill. `config`:
/// parameters that are given; the others have their defaults.
inline void check_linked(const char* name, const char* target_name, const Settings& problem,
                         const Settings& config = {}) {
  const auto specs = std::make_shared<const Specs>();
  static const Templates all;
  const Template& one = all.find(name);
  const Target target(target_name);
  const Settings whole = one.problem(problem), chosen = one.config(*specs, target, whole, config);
  INFO(name << " " << target_name << ": " << words(whole) << ", " << words(chosen));
  const LinkResult linked =
      Linker(Libraries())
          .link(print(one.emit(specs, target, whole, chosen).module), {.target = std::string(target.name())});
  for (const Diagnostic& remark : linked.diagnostics) FAIL_CHECK(remark.message);
  REQUIRE_FALSE(linked.resources.empty());
  for (const Resources& kernel : linked.resources) {
    CHECK(kernel.registers > 0);
    CHECK(kernel.spill_stores == 0);
  }
}

}  // namespace ptxloom::test
