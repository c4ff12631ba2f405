// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "exec/judge/grid_order.hpp"
#include "exec/judge/horizon.hpp"

// What happened before, as far as somebody knows: the actions of the parties of a cluster, and of other
// clusters.
namespace ptxloom::exec {

/// Memory that a fence.proxy.async is for: that of the thread block of who accesses it, shared memory of
/// another one in the cluster, and global memory.
enum FencedSpace : std::uint8_t { kSharedSpace, kRemoteSpace, kGlobalSpace };

/// What a fence.proxy.async covers. `.shared::cta` is for the shared memory of the own thread block, whoever
/// accesses it.
struct ProxyFence {
  bool own_shared = true;  ///< of the own thread block
  bool shared = true;      ///< of the cluster
  bool global = true;
};

/// What is known of a party.
struct Knowledge {
  Horizon seen;
  Horizon over;                   ///< reads and copies up to then are over, other writes perhaps not
  std::array<Horizon, 3> fenced;  ///< by FencedSpace: visible to asynchronous copies too

  bool covers(const Knowledge& other) const;
  void join(const Knowledge& other);
  /// A fence comes after this much of what it did. `own`: in the thread block of who fences.
  void fence_proxy(const ProxyFence& fence, const Horizon& until, bool own);
};

struct Past {
  std::vector<Knowledge> parties;  ///< empty: nothing is known of them
  GridOrder::Known others;         ///< what is known of other clusters
  GridOrder::Known others_fenced;  ///< that is visible to asynchronous copies too

  bool empty() const { return parties.empty() && others == nullptr; }
  /// Whether it has all that the other one has. False if that is not easy to see.
  bool covers(const Past& other) const;
  void join(const Past& other);
  /// All of it is over, and what is fenced is fenced.
  void join_over(const Past& other);
  /// The parties [first, first + count) are those of the thread block of who fences.
  void fence_proxy(const ProxyFence& fence, const Past& known, std::size_t first, std::size_t count);
};

}  // namespace ptxloom::exec
