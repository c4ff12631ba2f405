// SPDX-License-Identifier: Apache-2.0
#include "exec/grid.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ptxloom/error.hpp"

namespace ptxloom::exec {
namespace {

void check_launch(const Code& code, const Launch& launch) {
  const auto refuse = [&](const char* problem_code, std::string message, std::string hint) {
    throw Error(ErrorKind::usage, problem_code, fmt::format("kernel {}: {}", code.kernel.name, message), std::move(hint));
  };
  const auto zero = [](const Index3& extent) { return std::ranges::find(extent, 0u) != extent.end(); };
  if (zero(launch.grid) || zero(launch.block)) refuse("launch-size", "a grid or block of size 0", "use 1 for an axis that is not needed");
  const std::uint64_t threads = std::uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
  if (threads > 1024) refuse("launch-size", fmt::format("a block of {} threads", threads), "a block has at most 1024");
  if (code.kernel.reqntid && *code.kernel.reqntid != launch.block) {
    const Index3& wanted = *code.kernel.reqntid;
    refuse("launch-size", fmt::format("the block is {}x{}x{}", launch.block[0], launch.block[1], launch.block[2]),
           fmt::format("the kernel requires {}x{}x{} (.reqntid)", wanted[0], wanted[1], wanted[2]));
  }
  if (launch.parameters.size() < code.parameter_bytes) {
    refuse("launch-parameters",
           fmt::format("{} bytes of parameters are given, the kernel has {}", launch.parameters.size(), code.parameter_bytes),
           "lay the parameters out as the kernel's signature says");
  }
}

}  // namespace

Grid::Grid(const Code& code, const Memory& memory, const Launch& launch)
    : code_(code),
      memory_(memory),
      launch_(launch),
      registers_(code.registers),
      allocations_(memory.allocations()) {
  check_launch(code, launch);
}

}  // namespace ptxloom::exec
