// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <string_view>

#include "lint_code.hpp"
#include "sass/issue/issue_model.hpp"

// Code written by hand in the issue model.
namespace ptxloom::test {

inline sass::FunctionModel model_of(const std::string& code, const sass::ModelOptions& options,
                                    int chip = 90) {
  return sass::issue_model(code_listing(code), chip, options).functions.front();
}

/// Instructions in a loop, whose branch back is added.
inline sass::LoopModel loop_of(const std::string& body, const sass::ModelOptions& options, int chip = 90) {
  const sass::FunctionModel function = model_of(
      ".L_1:\n" + body + "[----:B------:R-:W-:-:S05] @P0 BRA `(.L_1)\n[----:B------:R-:W-:-:S05] EXIT\n",
      options, chip);
  REQUIRE(function.loops.size() == 1);
  return function.loops.front();
}

inline double bound_of(const sass::LoopModel& loop, std::string_view name) {
  for (const sass::Bound& one : loop.bounds)
    if (one.name == name) return one.cycles;
  return 0;
}

}  // namespace ptxloom::test
