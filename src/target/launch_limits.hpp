// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// What a launch may ask for on any chip (specs/targets.json, "launch"), and the one place that refuses the
// rest: the driver and the executor say the same of the same launch.
namespace ptxloom::target {

using Size3 = std::array<std::uint32_t, 3>;  // x, y, z

struct LaunchLimits {
  Size3 grid{}, block{};               ///< blocks of a grid, threads of a block, along each axis
  std::uint32_t threads = 0;           ///< of a block
  std::uint32_t cluster_portable = 0;  ///< blocks of a cluster that every chip with clusters takes
};
const LaunchLimits& launch_limits();

struct LaunchShape {
  Size3 grid{1, 1, 1}, block{1, 1, 1};
  std::optional<Size3> cluster = {};                    ///< that the launch asks for
  std::uint64_t static_shared = 0, dynamic_shared = 0;  ///< bytes
};

/// What one kernel on one chip takes; 0 = no limit is known.
struct LaunchRoom {
  std::uint32_t threads = 0;         ///< of a block: fewer than the chip's where registers are short
  std::uint64_t shared = 0;          ///< bytes of a block
  std::uint32_t cluster_blocks = 0;  ///< of a cluster
  std::optional<Size3> required_cluster = {};  ///< .reqnctapercluster
};

struct LaunchProblem {
  const char* code;     ///< "launch-size", "launch-cluster" or "launch-shared"
  std::string message;  ///< "grid.y is 65536, but the most is 65535"
  std::string hint;
};
/// The first thing that no launch may ask for.
std::optional<LaunchProblem> find_problem(const LaunchShape& shape, const LaunchRoom& room);

/// "cannot launch `k`: grid.y is 65536, ..."
std::string message_of(std::string_view kernel, const LaunchProblem& problem);

/// "4 x 2 x 1"
std::string describe(const Size3& size);
std::uint64_t product(const Size3& size);

}  // namespace ptxloom::target
