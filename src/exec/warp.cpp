// SPDX-License-Identifier: Apache-2.0
#include "exec/warp.hpp"

#include <algorithm>
#include <cstring>

#include "exec/block.hpp"
#include "exec/code.hpp"
#include "exec/fault.hpp"
#include "exec/grid.hpp"
#include "exec/poison.hpp"

namespace ptxloom::exec {

void Flow::start(Mask lanes) {
  ready_.clear();
  parked_.clear();
  current_ = {.pc = 0, .lanes = lanes};
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
    ready_.push_back({.pc = group.pc, .lanes = freed});
    group.lanes &= ~freed;
  }
  std::erase_if(parked_, [](const Group& group) { return group.lanes == 0; });
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

Warp::Warp(Block& block, std::uint32_t index)
    : block_(&block), index_(index), registers_(new std::byte[block.grid().registers().size()]) {
  const std::uint32_t threads =
      std::min<std::uint32_t>(block.grid().block_threads() - index * kLanes, kLanes);
  lanes_ = threads == kLanes ? kAllLanes : lane_bit(static_cast<int>(threads)) - 1;
  local_.resize(block.grid().code().local_bytes * kLanes);
}

void Warp::reset() {
  const auto image = block_->grid().registers();
  std::memcpy(registers_.get(), image.data(), image.size());
  std::ranges::fill(local_, static_cast<std::byte>(kPoison));
  copies_.clear();
  meetings_.clear();
  carry_ = 0;
  steps_ = 0;
  flow_.start(lanes_);
}

std::byte* Warp::local(int lane) {
  return local_.data() + block_->grid().code().local_bytes * static_cast<std::size_t>(lane);
}

void Warp::exit(Mask lanes) {
  flow_.exit(lanes);
  end_meetings();
  block_->barriers().recheck();
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
    flow_.release(meeting.arrived);
    return true;
  });
}

void Warp::report(const Operation& op, Mask lanes) const {
  const Grid& grid = block_->grid();
  grid.launch().trace({.kernel = grid.code().kernel,
                       .instruction = grid.code().kernel.instructions[op.instruction],
                       .block = block_->index(),
                       .warp = index_,
                       .lanes = lanes});
}

void Warp::run(std::uint64_t steps) {
  const std::vector<Operation>& operations = block_->grid().code().operations;
  std::uint64_t* executed = block_->executed();
  const bool trace = static_cast<bool>(block_->grid().launch().trace);
  for (; steps != 0 && !flow_.blocked(); --steps) {
    const std::uint32_t pc = flow_.current().pc;
    const Operation& op = operations[pc];
    Mask mask = flow_.current().lanes;
    if (op.guarded) mask &= Lanes<bool>(registers_.get(), op.guard).mask();
    if (executed != nullptr) ++executed[pc];
    if (op.begins && trace) report(op, mask);
    flow_.advance();
    if (mask != 0) op.run(*this, op, mask);
    flow_.settle();
    ++steps_;
  }
}

}  // namespace ptxloom::exec
