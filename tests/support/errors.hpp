// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <optional>

#include "ptxloom/error.hpp"

/// The Error that `work` throws; the test fails if it throws none.
template <typename Work>
ptxloom::Error error_of(const Work& work) {
  std::optional<ptxloom::Error> caught;
  try {
    work();
  } catch (const ptxloom::Error& error) {
    caught = error;
  }
  REQUIRE(caught);
  return *caught;
}
