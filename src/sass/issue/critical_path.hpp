// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "sass/issue/issue_table.hpp"
#include "sass/issue/loops.hpp"

// The chain of dependences that an iteration cannot be faster than: each instruction begins as soon as the
// registers that it reads are there, with any number of units.
namespace ptxloom::sass {

struct ChainStep {
  std::size_t step = 0;  ///< its number in the function
  double cycles = 0;     ///< until the next one of the chain may begin
};

struct CriticalPath {
  double cycles = 0;               ///< of an iteration
  std::vector<ChainStep> chain{};  ///< one turn of it; empty: no iteration needs the one before it
};

CriticalPath critical_path(const std::vector<HazardStep>& steps, const CodeLoop& loop,
                           const IssueTable& table, const LatencyTable& latencies);

}  // namespace ptxloom::sass
