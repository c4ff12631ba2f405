// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "ptxloom/plan.hpp"

// Problems and configurations as tests write and print them.
namespace ptxloom::test {

inline std::string words(const Settings& settings) {
  std::string text;
  for (const auto& [name, value] : settings) text += name + "=" + value + " ";
  return text;
}

/// `base`, overridden by `more`.
inline Settings with(Settings base, const Settings& more) {
  for (const auto& [name, value] : more) base[name] = value;
  return base;
}

/// The sizes of a matrix product.
inline Settings shape(int m, int n, int k) {
  return {{"m", std::to_string(m)}, {"n", std::to_string(n)}, {"k", std::to_string(k)}};
}

}  // namespace ptxloom::test
