// SPDX-License-Identifier: Apache-2.0
#include "exec/machine/cooperative.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "exec/machine/grid.hpp"
#include "ptxloom/error.hpp"

namespace ptxloom::exec {

namespace {

std::uint64_t shared_bytes(const Code& code, const Launch& launch) {
  return std::uint64_t{code.dynamic_shared_offset} + launch.shared_bytes;
}

}  // namespace

std::uint64_t resident_blocks(const Code& code, const Launch& launch) {
  const SmLimits& sm = code.sm;
  const std::uint64_t threads = (size_of(launch.block) + kLanes - 1) / kLanes * kLanes;
  const std::uint64_t shared = shared_bytes(code, launch);
  std::uint64_t blocks = std::min(sm.blocks, sm.threads / threads);
  if (shared != 0) blocks = std::min(blocks, sm.shared / (shared + sm.shared_reserved));
  return std::max<std::uint64_t>(blocks, 1) * std::max<std::uint64_t>(code.sms, 1);
}

void check_cooperative(const Code& code, const Launch& launch) {
  const std::uint64_t shared = shared_bytes(code, launch), most = resident_blocks(code, launch);
  if (size_of(launch.grid) <= most) return;
  throw Error(
      ErrorKind::usage, "launch-cooperative",
      fmt::format("kernel {}: a cooperative grid of {} thread blocks, each with {} threads and {} bytes of "
                  "shared memory, cannot be resident at once",
                  code.kernel.name, size_of(launch.grid), size_of(launch.block), shared),
      fmt::format("{} SMs hold {} of them at once: launch fewer thread blocks that each do more", code.sms,
                  most));
}

GridWorkspace::GridWorkspace(Memory& memory, const Launch& launch) : memory_(memory) {
  if (launch.cooperative) address_ = memory.map(words_.data(), sizeof words_, "the grid's workspace");
}

GridWorkspace::~GridWorkspace() {
  if (address_ != 0) memory_.release(address_);
}

}  // namespace ptxloom::exec
