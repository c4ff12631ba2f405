// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// The limits of a launch on any chip (specs/targets.json, "launch"), checked in one place, so that driver and
// executor report the same error for the same launch.
namespace ptxloom::target {

using Size3 = std::array<std::uint32_t, 3>;  // x, y, z

struct LaunchLimits {
  Size3 grid{}, block{};               ///< thread blocks of a grid, threads of a thread block, along each
                                       ///< axis
  std::uint32_t threads = 0;           ///< per thread block
  std::uint32_t cluster_portable = 0;  ///< thread blocks per cluster that every chip with clusters supports
  std::uint32_t local = 0;             ///< bytes of .local per thread
};
const LaunchLimits& launch_limits();

struct LaunchShape {
  Size3 grid{1, 1, 1}, block{1, 1, 1};
  std::optional<Size3> cluster = {};                    ///< as requested by the launch
  std::uint64_t static_shared = 0, dynamic_shared = 0;  ///< bytes
};

/// The limits for one kernel on one chip; 0 = no known limit.
struct LaunchRoom {
  std::uint32_t threads = 0;         ///< per thread block: less than the chip's limit if registers are short
  std::uint64_t shared = 0;          ///< bytes per thread block
  std::uint32_t cluster_blocks = 0;  ///< per cluster
  std::optional<Size3> required_cluster = {};  ///< .reqnctapercluster
};

struct LaunchProblem {
  const char* code;     ///< "launch-size", "launch-cluster" or "launch-shared"
  std::string message;  ///< "grid.y is 65536, but the most is 65535"
  std::string hint;
};
/// The first limit that the launch exceeds.
std::optional<LaunchProblem> find_problem(const LaunchShape& shape, const LaunchRoom& room);

/// "cannot launch `k`: grid.y is 65536, ..."
std::string message_of(std::string_view kernel, const LaunchProblem& problem);

/// "4 x 2 x 1"
std::string describe(const Size3& size);
std::uint64_t product(const Size3& size);

}  // namespace ptxloom::target
