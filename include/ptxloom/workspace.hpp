// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "ptxloom/context.hpp"

/// \file
/// Workspaces: global memory that a kernel needs in addition to its tensors (LaunchPlan::workspace_bytes),
/// for kernels that are launched on several streams. Launches on one stream run in order and can share a
/// workspace; launches on two streams cannot.
namespace [[gnu::visibility("default")]] ptxloom {

/// A workspace for each stream, whichever thread launches there. The first launch on a stream allocates it
/// and fills it with zeros in stream order; later launches find it as the kernel left it. After a launch that
/// threw it is filled with zeros again. Streams are distinguished by identity, not by handle, so a new stream
/// never gets a workspace that a destroyed one may still use. It is a handle: copies share the workspaces,
/// which live as long as the last copy. Const members are thread-safe.
class StreamWorkspaces {
 public:
  /// Number of streams that have a workspace at a time. Nobody knows which streams still exist. So the first
  /// launch on one more stream waits for the device and frees all workspaces, and each stream makes a new one
  /// when it needs one.
  static constexpr std::size_t kMost = 64;

  /// Allocates nothing yet. `bytes` is the size of a workspace.
  StreamWorkspaces(const Context& context, std::uint64_t bytes);

  /// What a launch needs. A launch with the layout of the launch before it finds what that left; one with
  /// another layout finds zeros.
  struct Need {
    std::uint64_t bytes = 0;   ///< size of the workspace
    std::uint64_t layout = 0;  ///< any number that identifies the kernel's use of it
  };

  /// Calls `launch`, which launches on this stream, with the address of the stream's workspace, a multiple of
  /// 256. Throws Error(usage, "missing-workspace") while the stream is captured, since a replay of the graph
  /// may overlap any launch, and leaves the capture as it is; Error(out_of_memory, "out-of-device-memory");
  /// what `launch` throws.
  ///@{
  void with(CUstream_st* stream, const std::function<void(std::uint64_t workspace)>& launch) const;
  void with(CUstream_st* stream, const Need& need,
            const std::function<void(std::uint64_t workspace)>& launch) const;
  ///@}

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace ptxloom
