// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exec/machine/call_stack.hpp"
#include "exec/machine/lanes.hpp"
#include "exec/machine/operation.hpp"
#include "exec/machine/state.hpp"

// A warp: its registers, and the position of each of its threads. Threads with the same program counter form
// a group and run in lockstep. Among several groups the one with the lowest program counter runs, and groups
// that meet merge: structured code reconverges right after an if or a loop, as on a GPU. A group that retries
// for long lets the others of its warp run, because it may be waiting for them.
namespace ptxloom::exec {

class Block;
class Judge;
class Tracer;
class Traffic;

struct Group {
  std::uint32_t pc = 0;
  Mask lanes = 0;
  bool again = false;  ///< of a parked group: it repeats the instruction before pc
  Mask members = 0;    ///< in that case: the threads that must arrive
  bool whole = false;  ///< in that case: these are all of the warp, and none of them may exit before
};

/// The groups of a warp. `current` runs, `ready` could run, `parked` wait for a barrier.
class Flow {
 public:
  void start(Mask lanes, std::uint32_t entry);
  const Group& current() const { return current_; }
  Mask live() const { return live_; }
  /// No group can run: all lanes wait or have exited.
  bool blocked() const { return current_.lanes == 0; }
  /// The lanes that run, or will in the next turn.
  Mask running() const {
    Mask lanes = current_.lanes;
    for (const Group& group : aside_) lanes |= group.lanes;
    return lanes;
  }
  const std::vector<Group>& parked() const { return parked_; }

  /// The lanes of groups that can run, and are at an instruction for which holds(pc).
  template <class F>
  Mask lanes_at(F holds) const {
    Mask lanes = current_.lanes != 0 && holds(current_.pc) ? current_.lanes : 0;
    for (const Group& group : ready_)
      if (holds(group.pc)) lanes |= group.lanes;
    return lanes;
  }

  void advance() { ++current_.pc; }
  /// These lanes of the current group continue at `target`.
  void branch(Mask taken, std::uint32_t target);
  void exit(Mask lanes);
  /// These lanes of the current group wait after the current instruction.
  void park(Mask lanes);
  void release(Mask lanes);
  /// These lanes of the current group wait for the other members to reach the instruction, and execute it
  /// with them, or once threads have exited.
  void wait_here(Mask lanes, Mask members, bool whole = false);
  /// These wait in this way, and others have executed the instruction for them.
  void continue_after(Mask lanes);
  /// Whether all lanes that have not exited wait in this way.
  bool stuck() const;
  void try_again();
  /// These lanes of the current group stay where they are until take_back, in the next turn.
  void set_aside(Mask lanes);
  void take_back() {
    if (!aside_.empty()) return_aside();
  }
  /// After each step: continues with the lowest group, merged with those at the same position.
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
  /// Runs until all threads wait or have exited, `steps` instructions are executed, or it yields.
  void run(std::uint64_t steps);
  /// Ends this turn after the current instruction, which may be waiting for others.
  void yield() { turn_ = 0; }
  /// The same for lanes that may retry until others have done something.
  void yield(const Operation& op, Mask lanes);
  /// The same for lanes that tested in vain what `what` describes.
  void yield(const Operation& op, Mask lanes, const WaitKind& kind, std::function<std::string()> what);

  Block& block() const { return *block_; }
  /// Null if judging is off.
  Judge* judge() const { return judge_; }
  /// Null if nothing is counted.
  Traffic* traffic() const { return traffic_; }
  /// Null if nothing is traced.
  Tracer* tracer() const { return tracer_; }
  std::uint32_t index() const { return index_; }
  std::byte* registers() { return registers_.get(); }
  Flow& flow() { return flow_; }
  const Flow& flow() const { return flow_; }
  /// Lanes that have a thread: fewer than 32 in the last warp if the thread block is not a multiple of 32.
  Mask lanes() const { return lanes_; }
  std::uint64_t steps() const { return steps_; }
  /// The thread's number in the thread block, x fastest.
  std::uint32_t thread(int lane) const { return index_ * kLanes + static_cast<std::uint32_t>(lane); }
  std::byte* local(int lane);
  /// What a family keeps for the warp (state.hpp).
  template <class T>
  T& state() {
    return states_.get<T>(*this);
  }
  States& states() { return states_; }
  const States& states() const { return states_; }
  /// The last test, if it was in vain.
  struct Look {
    const Operation* op;
    Mask lanes;
    const WaitKind* kind;
    std::function<std::string()> what;
  };
  const std::optional<Look>& look() const { return look_; }
  void looked_well() { look_.reset(); }
  /// Whether it does nothing but test in vain.
  bool vain() const { return look_ && steps_ - look_steps_ < kVainSteps; }
  /// Whether it does nothing but test words in memory in vain: it comes back to the same operation with the
  /// same registers.
  bool spins() const { return same_ >= kSame && steps_ - same_steps_ < kSpinSteps; }
  /// Where it last yielded.
  const Operation& tried() const { return *tried_; }
  Mask& carry() { return carry_; }
  CallStack& calls() { return calls_; }

  /// These threads exit; whoever waits only for them goes on.
  void exit(Mask lanes);
  /// For an instruction that all threads of the warp must execute together: whether these are all that have
  /// not exited. If not, they wait for the others, which may still be in a loop that ends in a jump back to
  /// here; a fault if the others cannot come.
  bool whole(const Operation& op, Mask lanes);
  /// bar.warp.sync: the lanes wait until all `members` that have not exited have arrived with the same mask.
  void meet(Mask lanes, Mask members);
  /// The members that a parked group waits for; none if it waits for something else.
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
  States states_;
  Mask carry_ = 0;  // CC.CF
  CallStack calls_;
  std::uint64_t steps_ = 0;
  std::uint64_t turn_ = 0;  // steps left in the turn
  std::optional<Look> look_;
  std::uint64_t look_steps_ = 0;                    // at that time
  const Operation* tried_ = nullptr;                // where it last yielded
  std::uint64_t tries_ = 0;                         // how often, without yielding elsewhere
  static constexpr std::uint64_t kVainSteps = 256;  // of a loop that tests
  std::uint64_t registers_hash_ = 0;                // when it was last looked at, after every kLook-th try
  std::uint64_t same_ = 0, same_steps_ = 0;  // how often in a row it was the same; the steps at that time
  static constexpr std::uint64_t kLook = 64, kSame = 3, kSpinSteps = kLook * kVainSteps;
  void look_at_registers();

  struct Meeting {
    Mask members, arrived;
  };
  void end_meetings();
  Mask watch(const Operation& op, Mask group, Mask lanes);
  std::vector<Meeting> meetings_;
};

}  // namespace ptxloom::exec
