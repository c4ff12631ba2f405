// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "exec/machine/lanes.hpp"

// Registers as bits, for instructions that move values of any type.
namespace ptxloom::exec {

/// The bits of a lane, at most eight bytes.
inline std::uint64_t read_element(std::byte* file, const Slot& slot, int lane) {
  if (slot.bytes == 4) return Lanes<std::uint32_t>(file, slot)[lane];
  return Lanes<std::uint64_t>(file, slot)[lane];
}
inline void write_element(std::byte* file, const Slot& slot, int lane, std::uint64_t bits) {
  if (slot.bytes == 4) {
    Lanes<std::uint32_t>(file, slot).set(lane, static_cast<std::uint32_t>(bits));
  } else {
    Lanes<std::uint64_t>(file, slot).set(lane, bits);
  }
}

/// One slot per element; a sixteen-byte element occupies two rows of lanes.
inline std::vector<Slot> rows_of(std::span<const Slot> slots, bool halves) {
  std::vector<Slot> rows;
  for (Slot slot : slots) {
    if (halves) slot.bytes = 8;
    rows.push_back(slot);
    if (!halves) continue;
    slot.offset += 8 * kLanes;
    rows.push_back(slot);
  }
  return rows;
}

}  // namespace ptxloom::exec
