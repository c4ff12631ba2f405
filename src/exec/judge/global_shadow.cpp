// SPDX-License-Identifier: Apache-2.0
#include "exec/judge/global_shadow.hpp"

#include <fmt/format.h>

#include <cstring>

#include "exec/machine/code.hpp"

namespace ptxloom::exec {
namespace {

// " allocated as argument 3 (out)": the first parameter that is an address in the allocation.
std::string argument_of(const Code& code, const Launch& launch, const Memory::Allocation& allocation) {
  for (std::size_t i = 0; i < code.kernel.parameters.size(); ++i) {
    const ir::Parameter& parameter = code.kernel.parameters[i];
    if (parameter.size() != sizeof(std::uint64_t)) continue;
    std::uint64_t value = 0;
    std::memcpy(&value, launch.parameters.data() + code.parameter_offsets[i], sizeof value);
    if (value - allocation.address < allocation.bytes)
      return fmt::format(", allocated as argument {} ({})", i + 1, parameter.name);
  }
  return {};
}

}  // namespace

GlobalShadow::GlobalShadow(const Memory& memory, std::span<const Memory::Allocation> allocations,
                           bool may_discard) {
  for (const Memory::Allocation& each : allocations) {
    if (std::byte* bits = memory.undefined_bits(each.address, may_discard))
      ranges_.push_back({.begin = each.data, .end = each.data + each.bytes, .bits = bits});
  }
}

std::span<std::byte> GlobalShadow::bits(const std::byte* memory, std::size_t bytes) {
  for (const Range& range : ranges_)
    if (memory >= range.begin && memory < range.end) return {range.bits + (memory - range.begin), bytes};
  return {};
}

std::string describe_allocated(const Code& code, const Launch& launch,
                               std::span<const Memory::Allocation> allocations, const std::byte* memory) {
  for (std::size_t i = 0; i < allocations.size(); ++i) {
    const Memory::Allocation& each = allocations[i];
    if (memory < each.data || memory >= each.data + each.bytes) continue;
    const std::string name = each.name.empty() ? fmt::format("buffer {}", i + 1) : each.name;
    return fmt::format("{} + {:#x}{}", name, memory - each.data, argument_of(code, launch, each));
  }
  return "global memory";
}

}  // namespace ptxloom::exec
