// SPDX-License-Identifier: Apache-2.0
#include "exec/matrix/warpgroup.hpp"

#include <fmt/format.h>

#include <fmt/ranges.h>
#include <bit>

#include <algorithm>
#include <cstring>
#include <utility>

#include "exec/machine/block.hpp"
#include "exec/machine/fault.hpp"
#include "exec/machine/poison.hpp"

namespace ptxloom::exec {
namespace {

constexpr WaitKind kWait{
    .code = "barrier-deadlock",
    .hint = "execute the same wgmma instructions in the same order in all four warps of a warpgroup"};

constexpr std::size_t kRegisterBytes = kLanes * sizeof(std::uint32_t);

}  // namespace

void Accumulators::clear() {
  flights_.clear();
  committed_ = 0;
}

void Accumulators::surface(std::byte* file, std::span<const Slot> slots) const {
  for (const Slot& slot : slots) {
    const auto flight = flights_.find(slot.offset);
    if (flight != flights_.end())
      std::memcpy(file + slot.offset, flight->second.value.data(), kRegisterBytes);
  }
}

void Accumulators::submerge(std::byte* file, std::span<const Slot> slots,
                            std::vector<std::uint32_t*>& values) {
  for (const Slot& slot : slots) {
    const auto [at, is_new] = flights_.try_emplace(slot.offset);
    Flight& flight = at->second;
    if (is_new) std::memcpy(flight.value.data(), file + slot.offset, kRegisterBytes);
    std::memset(file + slot.offset, kPoison, kRegisterBytes);
    flight.group = committed_;
    values.push_back(flight.value.data());
  }
}

void Accumulators::wait(std::byte* file, std::uint32_t pending) {
  std::erase_if(flights_, [&](const auto& entry) {
    const auto& [offset, flight] = entry;
    if (std::uint64_t{flight.group} + pending >= committed_) return false;
    std::memcpy(file + offset, flight.value.data(), kRegisterBytes);
    return true;
  });
}

void Warpgroups::reset() {
  const std::size_t warps = block_->warps().size();
  accumulators_.resize(warps);
  std::ranges::for_each(accumulators_, &Accumulators::clear);
  arrived_.assign((warps + kWarps - 1) / kWarps, std::vector<const Operation*>(kWarps));
}

void Warpgroups::arrive(Warp& warp, const Operation& op,
                        void (*run)(const Warps& warps, const Operation& op)) {
  const std::size_t group = warp.index() / kWarps, first = group * kWarps;
  if (first + kWarps > block_->warps().size()) {
    fault(warp, op, warp.flow().live(), "warpgroup-incomplete",
          fmt::format("its warpgroup has only {} warps", block_->warps().size() - first),
          "launch a multiple of 128 threads, or keep the last warps away from this instruction");
  }
  std::vector<const Operation*>& arrived = arrived_[group];
  for (std::size_t i = 0; i < kWarps; ++i) {
    if (arrived[i] == nullptr || arrived[i] == &op) continue;
    fault(warp, op, warp.flow().live(), "warpgroup-divergence",
          fmt::format("warp {} of the same warpgroup is at {}", first + i,
                      describe_with_line(warp, *arrived[i])),
          "execute the same wgmma instructions in the same order in all four warps of a warpgroup");
  }
  arrived[warp.index() % kWarps] = &op;
  warp.flow().park(warp.flow().live());
  if (std::ranges::find(arrived, nullptr) != arrived.end()) return;
  Warps warps{};
  for (std::size_t i = 0; i < kWarps; ++i) warps[i] = &block_->warps()[first + i];
  run(warps, op);
  std::ranges::fill(arrived, nullptr);
  for (Warp* member : warps) member->flow().release(member->flow().live());
}

void Warpgroups::report(std::vector<Wait>& waits) const {
  for (std::size_t group = 0; group < arrived_.size(); ++group) {
    std::vector<std::size_t> absent;
    for (std::size_t i = 0; i < kWarps; ++i)
      if (arrived_[group][i] == nullptr) absent.push_back(group * kWarps + i);
    for (std::size_t i = 0; i < kWarps; ++i) {
      const Operation* op = arrived_[group][i];
      if (op == nullptr) continue;
      const Warp& warp = block_->warps()[group * kWarps + i];
      waits.push_back({&warp, op, warp.flow().live(),
                       fmt::format("it waits here for warp {} of its warpgroup", fmt::join(absent, ", ")),
                       &kWait});
    }
  }
}

}  // namespace ptxloom::exec
