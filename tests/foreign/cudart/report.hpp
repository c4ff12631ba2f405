// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "foreign/cudart/device.hpp"
#include "ptxloom/findings.hpp"

namespace ptxloom::foreign {

struct LaunchReport {
  const Kernel& kernel;
  const LaunchShape& shape;
  double milliseconds = 0;
  std::string error = {};  ///< why it did not run, or not to its end
  std::vector<exec::Finding> findings = {};
};

/// Appends a line of JSON to the file that PTXLOOM_REPORT names, and writes faults to stderr.
void report(const LaunchReport& launch);

/// Writes the launch to a folder of its own in the one that PTXLOOM_RECORD names, if it is set: the PTX, the
/// memory as it is before the launch, and launch.json. build/tests/bench/judge_mutants repeats it.
void record(Kernel& kernel, const LaunchShape& shape, std::span<const std::byte> parameters,
            const std::vector<exec::Memory::Allocation>& allocations, const exec::Memory& memory);

}  // namespace ptxloom::foreign
