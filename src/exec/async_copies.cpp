// SPDX-License-Identifier: Apache-2.0
#include "exec/async_copies.hpp"

#include <algorithm>
#include <cstring>

#include "exec/poison.hpp"

namespace ptxloom::exec {

void AsyncCopies::clear() {
  copies_.clear();
  committed_.fill(0);
}

void AsyncCopies::issue(int lane, std::byte* to, const std::byte* from, std::size_t bytes, std::size_t read) {
  Copy copy{.to = to,
            .group = committed_[static_cast<std::size_t>(lane)],
            .lane = static_cast<std::uint8_t>(lane),
            .bytes = static_cast<std::uint8_t>(bytes),
            .data = {}};
  if (read != 0) std::memcpy(copy.data.data(), from, read);
  std::memset(to, kPoison, bytes);
  copies_.push_back(copy);
}

void AsyncCopies::commit(Mask lanes) {
  for_lanes(lanes, [&](int lane) { ++committed_[static_cast<std::size_t>(lane)]; });
}

template <class Covered>
void AsyncCopies::land(Covered covered) {
  const auto left = std::remove_if(copies_.begin(), copies_.end(), [&](const Copy& copy) {
    if (!covered(copy)) return false;
    std::memcpy(copy.to, copy.data.data(), copy.bytes);
    return true;
  });
  copies_.erase(left, copies_.end());
}

void AsyncCopies::wait(Mask lanes, std::uint32_t pending) {
  land([&](const Copy& copy) {
    return (lanes & lane_bit(copy.lane)) != 0 && copy.group + pending < committed_[copy.lane];
  });
}

void AsyncCopies::wait_all(Mask lanes) {
  land([&](const Copy& copy) { return (lanes & lane_bit(copy.lane)) != 0; });
}

}  // namespace ptxloom::exec
