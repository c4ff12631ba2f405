// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptxloom/builder_control.hpp"

/// \file
/// Operations of the threads of a warp, a thread block or a cluster together. `mask` has a bit for each lane
/// that takes part; by default all do.
namespace [[gnu::visibility("default")]] ptxloom {

/// The builder's layer for shuffles, votes, reductions and barriers.
class WarpBuilder : public ControlBuilder {
 public:
  using ControlBuilder::ControlBuilder;

  static constexpr std::uint32_t kAllLanes = 0xffff'ffff;  ///< the mask of the whole warp

  /// Exchange values of 32 or 64 bits. Each lane receives the value of another one: lane `from`; the lane
  /// `delta` below (up) or above (down); the lane whose number is its own xor `lane_mask`. If there is no
  /// such lane, it keeps its own.
  ///@{
  Reg shuffle(Reg value, Arg from, Arg mask = kAllLanes, Caller at = Caller::current());
  Reg shuffle_up(Reg value, Arg delta, Arg mask = kAllLanes, Caller at = Caller::current());
  Reg shuffle_down(Reg value, Arg delta, Arg mask = kAllLanes, Caller at = Caller::current());
  Reg shuffle_xor(Reg value, Arg lane_mask, Arg mask = kAllLanes, Caller at = Caller::current());
  ///@}

  /// A predicate: the given one holds in all lanes, in any lane, or is the same in all lanes.
  ///@{
  Reg vote_all(Reg predicate, Arg mask = kAllLanes, Caller at = Caller::current());
  Reg vote_any(Reg predicate, Arg mask = kAllLanes, Caller at = Caller::current());
  Reg vote_uni(Reg predicate, Arg mask = kAllLanes, Caller at = Caller::current());
  ///@}
  /// A b32 with a bit for each lane: set where the predicate holds.
  Reg ballot(Reg predicate, Arg mask = kAllLanes, Caller at = Caller::current());
  /// A b32 with a bit for each lane that executes this instruction.
  Reg active_mask(Caller at = Caller::current());
  /// A predicate that holds in one of the lanes.
  Reg elect(Arg mask = kAllLanes, Caller at = Caller::current());
  /// A b32 with a bit for each lane that has the same value. The value has 32 or 64 bits.
  Reg match_any(Reg value, Arg mask = kAllLanes, Caller at = Caller::current());
  /// The mask if all lanes have the same value, else 0.
  Reg match_all(Reg value, Arg mask = kAllLanes, Caller at = Caller::current());

  /// Reduce 32-bit integers over the lanes; all lanes receive the result. `redux_min` and `redux_max` also
  /// take f32 where the target has them.
  ///@{
  Reg redux_add(Reg value, Arg mask = kAllLanes, Caller at = Caller::current());
  Reg redux_min(Reg value, Arg mask = kAllLanes, Caller at = Caller::current());
  Reg redux_max(Reg value, Arg mask = kAllLanes, Caller at = Caller::current());
  Reg redux_and(Reg value, Arg mask = kAllLanes, Caller at = Caller::current());
  Reg redux_or(Reg value, Arg mask = kAllLanes, Caller at = Caller::current());
  Reg redux_xor(Reg value, Arg mask = kAllLanes, Caller at = Caller::current());
  ///@}

  /// Waits for the lanes of the warp.
  void warp_barrier(Arg mask = kAllLanes, Caller at = Caller::current());
  /// Waits for all threads of the thread block, at barrier 0.
  void barrier(Caller at = Caller::current());
  /// Waits at barrier `id`, 0 to 15, until `threads` threads have arrived, a multiple of the warp size.
  void barrier(Arg id, Arg threads, Caller at = Caller::current());
  /// Arrives at the same barrier without waiting.
  void barrier_arrive(Arg id, Arg threads, Caller at = Caller::current());
  /// Waits for all threads of the cluster.
  void cluster_barrier(Caller at = Caller::current());

 protected:
  Reg shuffle_by(std::string_view name, std::string_view mode, Reg value, Arg by, std::uint32_t clamp,
                 Arg mask, Caller at);
  Reg vote(std::string_view name, std::string_view opcode, Reg predicate, Arg mask, Caller at);
  Reg redux(std::string_view operation, Reg value, Arg mask, Caller at);
};

}  // namespace ptxloom
