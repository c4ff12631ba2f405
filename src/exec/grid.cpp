// SPDX-License-Identifier: Apache-2.0
#include "exec/grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "ptxloom/error.hpp"

namespace ptxloom::exec {
namespace {

[[noreturn]] void refuse(const Code& code, const char* problem, const std::string& what, std::string hint) {
  throw Error(ErrorKind::usage, problem, fmt::format("kernel {}: {}", code.kernel.name, what),
              std::move(hint));
}

std::string describe(const Index3& extent) {
  return fmt::format("{}x{}x{}", extent[0], extent[1], extent[2]);
}

std::uint64_t size_of(const Index3& extent) { return std::uint64_t{extent[0]} * extent[1] * extent[2]; }

void check_size(const Code& code, const Launch& launch) {
  constexpr std::uint32_t most = 1024;
  if (std::ranges::find(launch.grid, 0u) != launch.grid.end() ||
      std::ranges::find(launch.block, 0u) != launch.block.end())
    refuse(code, "launch-size", "a grid or block of size 0", "use 1 for an axis that is not needed");
  if (std::ranges::max(launch.block) > most || size_of(launch.block) > most)
    refuse(code, "launch-size", "a block of " + describe(launch.block),
           fmt::format("a block has at most {} threads", most));
  const auto &required = code.kernel.reqntid, &largest = code.kernel.maxntid;
  if (required && *required != launch.block)
    refuse(code, "launch-size", "the block is " + describe(launch.block),
           fmt::format("the kernel requires {} (.reqntid)", describe(*required)));
  if (largest && size_of(launch.block) > size_of(*largest))
    refuse(code, "launch-size", "the block is " + describe(launch.block),
           fmt::format("the kernel allows {} threads (.maxntid)", size_of(*largest)));
}

void check_memory(const Code& code, const Launch& launch) {
  const std::size_t shared = std::size_t{code.dynamic_shared_offset} + launch.shared_bytes;
  if (code.shared_limit != 0 && shared > code.shared_limit)
    refuse(code, "launch-shared",
           fmt::format("{} bytes of shared memory are asked for, {} of them static", shared,
                       code.static_shared_bytes),
           fmt::format("a block on the kernel's target has at most {}", code.shared_limit));
  if (launch.parameters.size() < code.parameter_bytes)
    refuse(code, "launch-parameters",
           fmt::format("{} bytes of parameters are given, the kernel has {}", launch.parameters.size(),
                       code.parameter_bytes),
           "lay the parameters out as the kernel's signature says");
}

}  // namespace

Grid::Grid(const Code& code, const Memory& memory, const Launch& launch)
    : code_(code),
      memory_(memory),
      launch_(launch),
      registers_(code.registers),
      allocations_(memory.allocations()) {
  check_size(code, launch);
  check_memory(code, launch);
}

}  // namespace ptxloom::exec
