// SPDX-License-Identifier: Apache-2.0
#include "exec/judge/global_shadow.hpp"

#include <fmt/format.h>

#include <algorithm>
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

std::string name_of(std::span<const Memory::Allocation> allocations, std::size_t i) {
  const std::string& name = allocations[i].name;
  return name.empty() ? fmt::format("buffer {}", i + 1) : name;
}

std::uint64_t distance_to(const Memory::Allocation& allocation, std::uint64_t address) {
  if (address < allocation.address) return allocation.address - address;
  const std::uint64_t offset = address - allocation.address;
  return offset < allocation.bytes ? 0 : offset - allocation.bytes;
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
    return fmt::format("{} + {:#x}{}", name_of(allocations, i), memory - each.data,
                       argument_of(code, launch, each));
  }
  return "global memory";
}

std::optional<Beside> describe_beside(const Code& code, const Launch& launch,
                                      std::span<const Memory::Allocation> allocations,
                                      std::span<const Memory::Allocation> released, std::uint64_t address) {
  const auto has_address = [&](const Memory::Allocation& each) {
    return address - each.address < each.bytes;
  };
  if (allocations.empty() || std::ranges::any_of(released, has_address)) return std::nullopt;
  const auto nearest = std::ranges::min_element(
      allocations, {}, [&](const Memory::Allocation& each) { return distance_to(each, address); });
  const std::string name = name_of(allocations, static_cast<std::size_t>(nearest - allocations.begin()));
  const std::string which =
      fmt::format("{} ({} bytes){}", name, nearest->bytes, argument_of(code, launch, *nearest));
  const std::uint64_t distance = distance_to(*nearest, address);
  if (address < nearest->address)
    return Beside{fmt::format("{} - {:#x}", name, distance),
                  fmt::format("{} bytes before {}", distance, which)};
  return Beside{fmt::format("{} + {:#x}", name, address - nearest->address),
                has_address(*nearest) ? "reaching over the end of " + which
                                      : fmt::format("{} bytes past the end of {}", distance, which)};
}

}  // namespace ptxloom::exec
