// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "ptxloom/context.hpp"

// Global memory that a kernel needs beside its tensors (LaunchPlan::workspace_bytes), for a kernel that is
// launched on several streams. What runs on one stream runs in order, so its launches can share a workspace;
// launches on two streams cannot.
namespace [[gnu::visibility("default")]] ptxloom {

/// A workspace for each stream, whatever thread launches there: the stream's first launch makes it and fills
/// it with zeros, in the order of the stream, and those behind it find it as the kernel left it. After a
/// launch that threw it is filled anew. Streams are told apart by identity, not by handle: a new stream never
/// gets what a destroyed one may still be using. It is a handle: copies share the workspaces, which live as
/// long as the last copy. Const members are thread-safe.
class StreamWorkspaces {
 public:
  /// Streams that have a workspace at a time. As a destroyed stream says nothing, the first launch on one
  /// more frees those of all (after waiting for the device), and each makes a new one where it is needed.
  static constexpr std::size_t kMost = 64;

  StreamWorkspaces(const Context& context, std::uint64_t bytes);

  /// What a launch needs. Launches with the same layout find what the one before them left; one with another
  /// finds zeros, and as many bytes as it needs.
  struct Need {
    std::uint64_t bytes = 0;
    std::uint64_t layout = 0;
  };

  /// Calls `launch`, which launches on this stream, with the address of the stream's workspace, a multiple of
  /// 256. While the stream is captured nothing is made, and none is lent: a graph may be replayed on any
  /// stream, beside any launch. Throws Error(usage, "missing-workspace") there, and leaves the capture as it
  /// is; Error(refused, "out-of-device-memory"); what `launch` throws.
  void with(CUstream_st* stream, const std::function<void(std::uint64_t workspace)>& launch) const;
  void with(CUstream_st* stream, const Need& need,
            const std::function<void(std::uint64_t workspace)>& launch) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace ptxloom
