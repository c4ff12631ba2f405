// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxloom/plan.hpp"

// The first line of the output of `emit`, `// ptxloom.launch {...}`: how to launch the kernel below it, with
// which parameters, and what its tensors are. Launches after the first are listed as "then". `run FILE.ptx`
// takes from it what the command line leaves open.
namespace ptxloom::cli {

struct LaunchHeader {
  std::vector<LaunchPlan> launches;  ///< at least one, in order
  std::vector<TensorPlan> tensors;   ///< those that the launches' arguments name
};

/// Without the "//".
std::string format_launch_header(const LaunchHeader& header);
/// nullopt if the first line is not such a header. Throws Error(usage, "bad-launch-header") for a damaged
/// one.
std::optional<LaunchHeader> read_launch_header(std::string_view ptx);

}  // namespace ptxloom::cli
