// SPDX-License-Identifier: Apache-2.0
#include "exec/machine/block.hpp"

#include <algorithm>
#include <bit>
#include <span>

#include "exec/machine/cluster.hpp"
#include "exec/machine/poison.hpp"

namespace ptxloom::exec {

Block::Block(Cluster& cluster, std::uint32_t rank) : cluster_(cluster), grid_(cluster.grid()), rank_(rank) {
  shared_.resize(grid_.shared_bytes());
  const std::uint32_t warps = (grid_.block_threads() + kLanes - 1) / kLanes;
  for (std::uint32_t i = 0; i < warps; ++i) warps_.emplace_back(*this, i);
}

void Block::start(const Index3& index) {
  index_ = index;
  std::ranges::fill(shared_, static_cast<std::byte>(kPoison));
  const auto reserved = grid_.reserved_shared();
  std::ranges::fill(std::span(shared_).subspan(reserved.begin), std::byte{});
  states_.reset();
  for (Warp& warp : warps_) warp.reset();
}

std::uint32_t Block::live_threads() const {
  std::uint32_t threads = 0;
  for (const Warp& warp : warps_) threads += static_cast<std::uint32_t>(std::popcount(warp.flow().live()));
  return threads;
}

}  // namespace ptxloom::exec
