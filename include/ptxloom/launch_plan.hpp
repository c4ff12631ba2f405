// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptxloom/tensor_map.hpp"
#include "ptxloom/type.hpp"

/// \file
/// How kernels are launched, as plain data: their grids and arguments, which name tensors instead
/// of addresses. kit/params.hpp makes the arguments and the kernel's parameters from one declaration.
namespace [[gnu::visibility("default")]] ptxloom {

/// One kernel argument: the address of a tensor, a tensor map of it, or the bits of a scalar.
struct ArgumentPlan {
  std::string name;         ///< of the parameter
  Type type;                ///< of the parameter
  std::string tensor = {};  ///< the tensor that is passed; empty: a scalar
  std::uint64_t bits = 0;   ///< of a scalar
  std::optional<TensorMap> map =
      {};  ///< passed in place of the address; its own address is relative to the tensor's
  std::uint32_t alignment = 0;  ///< the tensor's address must be a multiple of it, in bytes; 0: of anything
};

/// As ArgumentPlan::tensor: the workspace of the launch.
inline constexpr std::string_view kWorkspace = "workspace";

/// A range of a tensor or of the workspace that is set to zero.
struct ClearPlan {
  std::string tensor;        ///< its name, or kWorkspace
  std::uint64_t offset = 0;  ///< first byte
  std::uint64_t bytes = 0;   ///< size of the range
};

/// How a kernel is launched. Several launches are a list of these: they run in order on one stream, share one
/// workspace, and pass data through it or through the tensors. Do not pass data through a `.global` variable:
/// each kernel may have a copy of its own.
struct LaunchPlan {
  std::string entry;                           ///< name of the kernel
  std::array<std::uint32_t, 3> grid{1, 1, 1};  ///< thread blocks; for a persistent kernel one per work item
  /// For a persistent kernel: thread blocks that an SM holds at once. No more are launched, and each
  /// processes several work items. 0: the grid is launched as it is.
  std::uint32_t blocks_per_sm = 0;
  bool cooperative = false;  ///< thread blocks wait for each other: all are resident, or the launch fails
  std::array<std::uint32_t, 3> block{1, 1, 1};    ///< threads
  std::array<std::uint32_t, 3> cluster{1, 1, 1};  ///< thread blocks
  std::uint32_t shared_bytes = 0;                 ///< dynamic shared memory of a thread block
  /// Global memory that the kernel needs in addition to the tensors, at a multiple of 256. It holds zeros
  /// before the first launch, and nothing else may write to it afterwards. Launches that share one must not
  /// overlap in time.
  std::uint64_t workspace_bytes = 0;
  std::vector<ArgumentPlan> arguments;  ///< in the order of the parameters
  std::vector<ClearPlan> clear = {};    ///< set to zero before the launch, in stream order
};

}  // namespace ptxloom
