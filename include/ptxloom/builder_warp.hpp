// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptxloom/builder_control.hpp"

// What the threads of a warp, and the warps of a thread block, do together. `mask` has a bit for each lane
// that takes part: all of them by default.
namespace [[gnu::visibility("default")]] ptxloom {

class WarpBuilder : public ControlBuilder {
 public:
  using ControlBuilder::ControlBuilder;

  static constexpr std::uint32_t kAllLanes = 0xffff'ffff;

  // ---- shuffles: of 32 or 64 bits. Each lane takes the value of another one: of lane `from`, or of the one
  // `delta` below, `delta` above or `lane_mask` apart (xor); where there is none, its own.
  Reg shuffle(Reg value, Arg from, Arg mask = kAllLanes, Caller at = Caller::current());
  Reg shuffle_up(Reg value, Arg delta, Arg mask = kAllLanes, Caller at = Caller::current());
  Reg shuffle_down(Reg value, Arg delta, Arg mask = kAllLanes, Caller at = Caller::current());
  Reg shuffle_xor(Reg value, Arg lane_mask, Arg mask = kAllLanes, Caller at = Caller::current());

  // ---- votes
  Reg vote_all(Reg predicate, Arg mask = kAllLanes, Caller at = Caller::current());  ///< a predicate
  Reg vote_any(Reg predicate, Arg mask = kAllLanes, Caller at = Caller::current());
  Reg vote_uni(Reg predicate, Arg mask = kAllLanes,
               Caller at = Caller::current());                                     ///< the same in all lanes
  Reg ballot(Reg predicate, Arg mask = kAllLanes, Caller at = Caller::current());  ///< a bit for each lane
  Reg active_mask(Caller at = Caller::current());
  Reg elect(Arg mask = kAllLanes, Caller at = Caller::current());  ///< true in one lane
  /// The lanes that have the same value.
  Reg match_any(Reg value, Arg mask = kAllLanes, Caller at = Caller::current());
  /// The mask, where all lanes have the same value, else 0.
  Reg match_all(Reg value, Arg mask = kAllLanes, Caller at = Caller::current());

  // ---- reductions over the warp, of integers (min and max: of f32 too, where the target has them)
  Reg redux_add(Reg value, Arg mask = kAllLanes, Caller at = Caller::current());
  Reg redux_min(Reg value, Arg mask = kAllLanes, Caller at = Caller::current());
  Reg redux_max(Reg value, Arg mask = kAllLanes, Caller at = Caller::current());
  Reg redux_and(Reg value, Arg mask = kAllLanes, Caller at = Caller::current());
  Reg redux_or(Reg value, Arg mask = kAllLanes, Caller at = Caller::current());
  Reg redux_xor(Reg value, Arg mask = kAllLanes, Caller at = Caller::current());

  // ---- barriers
  void warp_barrier(Arg mask = kAllLanes, Caller at = Caller::current());
  void barrier(Caller at = Caller::current());  ///< all threads of the block
  /// `threads` threads, a multiple of the warp's size, wait at barrier `id`, 0 to 15.
  void barrier(Arg id, Arg threads, Caller at = Caller::current());
  /// They are counted, and do not wait.
  void barrier_arrive(Arg id, Arg threads, Caller at = Caller::current());
  void cluster_barrier(Caller at = Caller::current());  ///< all threads of the cluster

 protected:
  Reg shuffle_by(std::string_view name, std::string_view mode, Reg value, Arg by, std::uint32_t clamp,
                 Arg mask, Caller at);
  Reg vote(std::string_view name, std::string_view opcode, Reg predicate, Arg mask, Caller at);
  Reg redux(std::string_view operation, Reg value, Arg mask, Caller at);
};

}  // namespace ptxloom
