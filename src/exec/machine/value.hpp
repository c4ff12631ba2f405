// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

// A value that calls pass or keep, with the bits of it that were never given a value, which only a judged run
// knows.
namespace ptxloom::exec {

/// Of at most sixteen bytes.
struct Value {
  std::array<std::uint64_t, 2> bits{}, undefined{};
};

}  // namespace ptxloom::exec
