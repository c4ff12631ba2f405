// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "exec/judge/grid_order.hpp"
#include "exec/judge/horizon.hpp"
#include "exec/judge/scope.hpp"

// What happened before, as far as somebody knows: the actions of the parties of a cluster, and of other
// clusters.
namespace ptxloom::exec {

/// The memory that a fence.proxy.async is for.
enum FencedSpace : std::uint8_t { kSharedSpace, kGlobalSpace };

/// What is known of a party.
struct Knowledge {
  Horizon seen;
  Horizon over;                           ///< reads and copies up to then are over, other writes perhaps not
  std::array<Horizon, 2> fenced;          ///< by FencedSpace: visible to asynchronous copies too
  std::array<Horizon, kScopes> released;  ///< covered by a fence of this scope or a larger one

  void join(const Knowledge& other);
};

struct Past {
  std::vector<Knowledge> parties;                         ///< empty: nothing is known of them
  GridOrder::Known others;                                ///< what is known of other clusters
  std::array<GridOrder::Known, kScopes> others_released;  ///< that a fence covers

  void join(const Past& other);
  /// Only what a fence of this scope covers is seen there.
  void join_released(const Past& other, Scope scope);
  /// All of it is over.
  void join_over(const Past& other);
  /// A fence comes after it.
  void release(Scope scope);
  void fence_proxy(bool shared, bool global);
};

}  // namespace ptxloom::exec
