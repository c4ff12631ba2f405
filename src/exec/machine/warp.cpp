// SPDX-License-Identifier: Apache-2.0
#include "exec/machine/warp.hpp"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include "exec/machine/block.hpp"
#include "exec/machine/cluster.hpp"
#include "exec/machine/code.hpp"
#include "exec/machine/detour.hpp"
#include "exec/machine/fault.hpp"
#include "exec/machine/grid.hpp"
#include "exec/machine/poison.hpp"
#include "exec/machine/wait.hpp"
#include "exec/watch/tracer.hpp"
#include "exec/watch/traffic.hpp"

namespace ptxloom::exec {

void Flow::start(Mask lanes, std::uint32_t entry) {
  ready_.clear();
  parked_.clear();
  aside_.clear();
  current_ = {.pc = entry, .lanes = lanes};
  live_ = lanes;
  next_ = kNone;
}

void Flow::branch(Mask taken, std::uint32_t target) {
  if (taken == current_.lanes) {
    current_.pc = target;
    return;
  }
  current_.lanes &= ~taken;
  ready_.push_back({.pc = target, .lanes = taken});
  next_ = std::min(next_, target);
}

void Flow::exit(Mask lanes) {
  current_.lanes &= ~lanes;
  live_ &= ~lanes;
}

void Flow::park(Mask lanes) {
  parked_.push_back({.pc = current_.pc, .lanes = lanes});
  current_.lanes &= ~lanes;
}

void Flow::release(Mask lanes) {
  for (Group& group : parked_) {
    const Mask freed = group.lanes & lanes;
    if (freed == 0) continue;
    ready_.push_back({.pc = group.again ? group.pc - 1 : group.pc, .lanes = freed});
    group.lanes &= ~freed;
  }
  std::erase_if(parked_, [](const Group& group) { return group.lanes == 0; });
  choose();
}

void Flow::wait_here(Mask lanes, Mask members, bool whole) {
  Group group{.pc = current_.pc, .lanes = lanes, .again = true, .members = members, .whole = whole};
  current_.lanes &= ~lanes;
  const auto same = std::ranges::find_if(parked_, [&](const Group& other) {
    return other.again && other.pc == group.pc && other.members == members;
  });
  if (same == parked_.end()) {
    parked_.push_back(group);
    return;
  }
  group.lanes |= same->lanes;  // all of them may be complete
  parked_.erase(same);
  ready_.push_back({.pc = group.pc - 1, .lanes = group.lanes});
  next_ = std::min(next_, group.pc - 1);
}

void Flow::continue_after(Mask lanes) {
  for (Group& group : parked_) {
    const Mask freed = group.lanes & lanes;
    if (freed == 0) continue;
    ready_.push_back({.pc = group.pc, .lanes = freed});
    next_ = std::min(next_, group.pc);
    group.lanes &= ~freed;
  }
  std::erase_if(parked_, [](const Group& group) { return group.lanes == 0; });
}

bool Flow::stuck() const {
  Mask waiting = 0;
  for (const Group& group : parked_) waiting |= group.again ? group.lanes : 0;
  return waiting == live_;
}

void Flow::try_again() {
  Mask waiting = 0;
  for (const Group& group : parked_) waiting |= group.again ? group.lanes : 0;
  if (waiting != 0) release(waiting);
}

void Flow::set_aside(Mask lanes) {
  aside_.push_back({.pc = current_.pc, .lanes = lanes});
  current_.lanes &= ~lanes;
}

void Flow::return_aside() {
  ready_.insert(ready_.end(), aside_.begin(), aside_.end());
  aside_.clear();
  choose();
}

void Flow::choose() {
  if (current_.lanes != 0) ready_.push_back(current_);
  current_ = {.pc = kNone, .lanes = 0};
  for (const Group& group : ready_) current_.pc = std::min(current_.pc, group.pc);
  next_ = kNone;
  std::erase_if(ready_, [&](const Group& group) {
    if (group.pc != current_.pc) {
      next_ = std::min(next_, group.pc);
      return false;
    }
    current_.lanes |= group.lanes;
    return true;
  });
}

namespace {

[[noreturn]] void refuse_part(const Warp& warp, const Operation& op, Mask lanes) {
  fault(warp, op, lanes, "barrier-divergence",
        "only some threads of the warp reach this barrier: lanes " +
            describe_lanes(warp.flow().live() & ~lanes) + " do not",
        "move the barrier out of divergent branches, or use barrier.sync without .aligned");
}

}  // namespace

Warp::Warp(Block& block, std::uint32_t index)
    : block_(&block),
      judge_(block.cluster().judge()),
      traffic_(block.cluster().traffic()),
      tracer_(block.cluster().tracer()),
      index_(index),
      registers_(new std::byte[block.grid().registers().size()]) {
  const std::uint32_t threads =
      std::min<std::uint32_t>(block.grid().block_threads() - index * kLanes, kLanes);
  lanes_ = threads == kLanes ? kAllLanes : lane_bit(static_cast<int>(threads)) - 1;
  local_.resize(block.grid().code().local_bytes * std::size_t{kLanes});
}

void Warp::reset() {
  std::ranges::copy(block_->grid().registers(), registers_.get());
  std::ranges::fill(local_, static_cast<std::byte>(kPoison));
  for (const Slot& slot : block_->grid().code().shared_addresses) {
    const Lanes<std::uint64_t> address(registers_.get(), slot);
    for_lanes(kAllLanes, [&](int lane) { address.set(lane, address[lane] + shared_base(block_->rank())); });
  }
  states_.reset();
  look_.reset();
  tried_ = nullptr;
  same_ = 0;
  meetings_.clear();
  carry_ = 0;
  steps_ = 0;
  calls_.reset(block_->grid().code().local_bytes);
  flow_.start(lanes_, block_->grid().code().entry);
}

std::byte* Warp::local(int lane) {
  return local_.data() + block_->grid().code().local_bytes * static_cast<std::size_t>(lane);
}

bool Warp::whole(const Operation& op, Mask lanes) {
  if (lanes == flow_.live()) return true;
  const Mask pass_by = flow_.current().lanes & ~lanes;  // their guard is false
  if (pass_by == 0) flow_.wait_here(lanes, flow_.live(), true);
  if (pass_by != 0 || flow_.stuck()) refuse_part(*this, op, lanes);
  return false;
}

void Warp::exit(Mask lanes) {
  for (const Group& group : flow_.parked())
    if (group.whole) refuse_part(*this, waits_at(*this, group), group.lanes);
  flow_.exit(lanes);
  if (judge_ != nullptr) judge_->exit(*this, lanes);
  if (judge_ != nullptr && block_->ended()) judge_->block_exits(*block_);
  flow_.try_again();
  end_meetings();
  states_.exited();
  block_->states().exited();
  block_->cluster().states().exited();
}

void Warp::look_at_registers() {
  const std::string_view bytes(reinterpret_cast<const char*>(registers_.get()),
                               block_->grid().registers().size());
  const std::uint64_t hash = std::hash<std::string_view>()(bytes);
  same_ = hash == registers_hash_ ? same_ + 1 : 0;
  registers_hash_ = hash;
  same_steps_ = steps_;
}

void Warp::yield(const Operation& op, Mask lanes) {
  constexpr std::uint64_t patience = 1'000;
  tries_ = tried_ == &op ? tries_ + 1 : 0;
  tried_ = &op;
  if (tries_ == 0) same_ = 0;
  if (tries_ >= patience && tries_ % kLook == 0) look_at_registers();
  if (tries_ < patience || lanes == flow_.live()) return yield();
  flow_.set_aside(lanes);
}

void Warp::yield(const Operation& op, Mask lanes, const WaitKind& kind, std::function<std::string()> what) {
  look_ = {.op = &op, .lanes = lanes, .kind = &kind, .what = std::move(what)};
  look_steps_ = steps_;
  yield(op, lanes);
}

void Warp::meet(Mask lanes, Mask members) {
  flow_.park(lanes);
  const auto meeting = std::ranges::find(meetings_, members, &Meeting::members);
  if (meeting == meetings_.end()) {
    meetings_.push_back({.members = members, .arrived = lanes});
  } else {
    meeting->arrived |= lanes;
  }
  end_meetings();
}

void Warp::end_meetings() {
  std::erase_if(meetings_, [&](const Meeting& meeting) {
    if ((meeting.members & flow_.live() & ~meeting.arrived) != 0) return false;
    if (judge_ != nullptr) judge_->meet(*this, meeting.arrived);
    flow_.release(meeting.arrived);
    return true;
  });
}

Mask Warp::awaited_by(const Group& group) const {
  Mask come = group.lanes, members = group.members;
  for (const Meeting& meeting : meetings_) {
    if ((meeting.arrived & group.lanes) == 0) continue;
    come |= meeting.arrived;
    members |= meeting.members;
  }
  return members & flow_.live() & ~come;
}

// Notifies the observers before the operation is executed. Returns the lanes that execute it.
Mask Warp::watch(const Operation& op, Mask group, Mask lanes) {
  if (tracer_ != nullptr && op.begins) tracer_->begin(*this, op, lanes);
  if (judge_ != nullptr) {
    if (!flow_.parked().empty() && block_->grid().launch().findings != nullptr)
      state<Detours>().look_at_current();
    lanes = judge_->executes(*this, op, group, lanes);
  }
  if (traffic_ != nullptr) traffic_->executes(*this, op, lanes);
  return lanes;
}

void Warp::run(std::uint64_t steps) {
  const std::vector<Operation>& operations = block_->grid().code().operations;
  const bool watched = judge_ != nullptr || traffic_ != nullptr || tracer_ != nullptr;
  for (turn_ = steps; turn_ != 0 && !flow_.blocked();) {
    --turn_;
    const Operation& op = operations[flow_.current().pc];
    Mask mask = flow_.current().lanes;
    if (op.guarded) mask &= Lanes<bool>(registers_.get(), op.guard).mask();
    if (watched) mask = watch(op, flow_.current().lanes, mask);
    flow_.advance();
    if (mask != 0) op.run(*this, op, mask);
    flow_.settle();
    ++steps_;
  }
  if (tracer_ != nullptr) tracer_->end();
  if (judge_ != nullptr && (flow_.blocked() || operations[flow_.current().pc].begins)) judge_->executed();
}

}  // namespace ptxloom::exec
