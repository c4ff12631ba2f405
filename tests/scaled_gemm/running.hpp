// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "ptxloom/error.hpp"
#include "ptxloom/templates.hpp"

// What the tests of scaled_gemm have in common.
namespace ptxloom::scaled_gemm_test {

inline const Template& scaled_gemm() {
  static const Templates all;
  return all.find("scaled_gemm");
}

inline std::string refusal(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "it was accepted";
}

}  // namespace ptxloom::scaled_gemm_test
