// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "exec/async/async_copies.hpp"
#include "exec/async/transfer.hpp"
#include "exec/machine/call_stack.hpp"
#include "exec/machine/lanes.hpp"
#include "exec/machine/operation.hpp"
#include "exec/memory/address.hpp"

// A warp: its registers, and where each of its threads is. Threads at one program counter form a group and go
// in lockstep. Of several groups the one with the lowest program counter runs, and groups that meet become
// one: code written in structured order joins again right behind an if or a loop, as it does on the GPU. A
// group that tries in vain for long lets the others of its warp go on: it may be they it waits for.
namespace ptxloom::exec {

class Block;
class Judge;
class Tracer;
class Traffic;

struct Group {
  std::uint32_t pc = 0;
  Mask lanes = 0;
  bool again = false;  ///< of a parked group: it does the instruction before pc again
  Mask members = 0;    ///< then: the threads that must come
};

/// The groups of a warp. `current` runs, `ready` could, `parked` wait for a barrier.
class Flow {
 public:
  void start(Mask lanes, std::uint32_t entry);
  const Group& current() const { return current_; }
  Mask live() const { return live_; }
  /// No group can run: all lanes wait, or have exited.
  bool blocked() const { return current_.lanes == 0; }
  const std::vector<Group>& parked() const { return parked_; }

  void advance() { ++current_.pc; }
  /// These lanes of the current group go on at `target`.
  void branch(Mask taken, std::uint32_t target);
  void exit(Mask lanes);
  /// These lanes of the current group wait, behind the instruction they are at.
  void park(Mask lanes);
  void release(Mask lanes);
  /// These lanes of the current group wait for the other members to come to the instruction, and do it with
  /// them, or when threads have exited.
  void wait_here(Mask lanes, Mask members);
  void try_again();
  /// These lanes of the current group stop where they are until take_back, at the next turn.
  void set_aside(Mask lanes);
  void take_back() {
    if (!aside_.empty()) return_aside();
  }
  /// After each step: goes on with the group that is lowest, joined with those at the same place.
  void settle() {
    if (current_.pc >= next_ || current_.lanes == 0) choose();
  }

 private:
  void choose();
  void return_aside();

  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  Group current_;
  std::uint32_t next_ = kNone;  // the lowest program counter in ready_
  Mask live_ = 0;
  std::vector<Group> ready_, parked_, aside_;
};

class Warp {
 public:
  Warp(Block& block, std::uint32_t index);

  /// Poisons the registers and puts all threads at the start.
  void reset();
  /// Runs until all threads wait or have exited, `steps` instructions are done, or it yields.
  void run(std::uint64_t steps);
  /// Ends this turn behind the instruction at hand: it may wait for what others do.
  void yield() { turn_ = 0; }
  /// The same for lanes that may try again and again, until others have done something.
  void yield(const Operation& op, Mask lanes);
  /// The same for lanes that looked at a barrier in memory whose phase is not complete.
  void yield(const Operation& op, Mask lanes, const SharedPlace& barrier);

  Block& block() const { return *block_; }
  /// Null where judging is off.
  Judge* judge() const { return judge_; }
  /// Null where nothing is counted.
  Traffic* traffic() const { return traffic_; }
  std::uint32_t index() const { return index_; }
  std::byte* registers() { return registers_.get(); }
  Flow& flow() { return flow_; }
  const Flow& flow() const { return flow_; }
  /// Lanes that have a thread: fewer than 32 in the last warp of an odd block.
  Mask lanes() const { return lanes_; }
  std::uint64_t steps() const { return steps_; }
  /// Of the block, counted x first.
  std::uint32_t thread(int lane) const { return index_ * kLanes + static_cast<std::uint32_t>(lane); }
  std::byte* local(int lane);
  AsyncCopies& copies() { return copies_; }
  AsyncGroups<Transfer>& bulk_copies() { return bulk_copies_; }
  /// The last look at a barrier, if it was in vain.
  struct Look {
    const Operation* op;
    Mask lanes;
    SharedPlace place;
  };
  const std::optional<Look>& look() const { return look_; }
  void looked_well() { look_.reset(); }
  /// It does nothing but looking in vain.
  bool vain() const { return look_ && steps_ - look_steps_ < kVainSteps; }
  Mask& carry() { return carry_; }
  CallStack& calls() { return calls_; }

  /// These threads end; barriers that wait only for them open.
  void exit(Mask lanes);
  /// After the last thread of the cluster: copies to global memory arrive, if their source was waited for.
  void finish();
  /// bar.warp.sync: the lanes wait until all of `members` that live have come with the same mask.
  void meet(Mask lanes, Mask members);
  /// The members that a parked group waits for; none where it waits for something else.
  Mask awaited_by(const Group& group) const;

 private:
  Block* block_;
  Judge* judge_;
  Traffic* traffic_;
  Tracer* tracer_;
  std::uint32_t index_;
  Mask lanes_ = 0;
  std::unique_ptr<std::byte[]> registers_;
  std::vector<std::byte> local_;
  Flow flow_;
  AsyncCopies copies_;
  AsyncGroups<Transfer> bulk_copies_;
  Mask carry_ = 0;  // CC.CF
  CallStack calls_;
  std::uint64_t steps_ = 0;
  std::uint64_t turn_ = 0;  // steps left in it
  std::optional<Look> look_;
  std::uint64_t look_steps_ = 0;                    // when that was
  const Operation* tried_ = nullptr;                // where it yielded last
  std::uint64_t tries_ = 0;                         // how often without yielding elsewhere
  static constexpr std::uint64_t kVainSteps = 256;  // of a loop that looks

  struct Meeting {
    Mask members, arrived;
  };
  void end_meetings();
  void watch(const Operation& op, Mask group, Mask lanes);
  std::vector<Meeting> meetings_;
};

}  // namespace ptxloom::exec
