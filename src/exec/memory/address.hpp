// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "exec/judge/scope.hpp"
#include "exec/machine/operation.hpp"
#include "ptxloom/exec.hpp"

// Translates an address in a state space to host memory, with every bound checked. A generic address is in
// one of four windows (shared, local, constant, parameters), each far from any allocation, or is a global
// address. The shared window has one part for each thread block of the cluster, by rank: a thread block's own
// shared addresses start at its rank's part.
namespace ptxloom::exec {

class Block;
class Grid;

/// The base address of module variables, above the addresses of any memory.
inline constexpr std::uint64_t kFirstVariable = std::uint64_t{0x4000} << 48;
/// The distance between allocations and variables: a 32-bit index cannot reach from one to the next.
inline constexpr std::uint64_t kGap = std::uint64_t{1} << 33;
inline constexpr std::uint64_t kWindowBytes = std::uint64_t{1} << 32;
inline constexpr int kRankShift = 24;  ///< of the rank in a shared address
inline constexpr std::uint32_t shared_base(std::uint32_t rank) { return rank << kRankShift; }
inline constexpr std::uint32_t shared_rank(std::uint64_t address) {
  return static_cast<std::uint32_t>(address % kWindowBytes >> kRankShift);
}
inline constexpr std::uint32_t shared_offset(std::uint64_t address) {
  return static_cast<std::uint32_t>(address % (std::uint64_t{1} << kRankShift));
}
/// The start of a space among generic addresses; 0 for global memory.
constexpr std::uint64_t window(StateSpace space) {
  constexpr std::uint64_t first = 0x7100'0000'0000'0000;
  switch (space) {
    case StateSpace::shared:
    case StateSpace::cluster:
      return first;
    case StateSpace::local:
      return first + (std::uint64_t{1} << 40);
    case StateSpace::constant:
      return first + (std::uint64_t{2} << 40);
    case StateSpace::param:
      return first + (std::uint64_t{3} << 40);
    case StateSpace::generic:
    case StateSpace::global:
      break;
  }
  return 0;
}
/// The space of a PTX word, including sub-qualifiers ("shared::cta"); "" and "-" are generic. Empty for a
/// space that the executor does not support.
std::optional<StateSpace> find_space(std::string_view word);

/// The space of a generic address; `shared` for every thread block.
StateSpace space_of(std::uint64_t generic);

enum class Access : std::uint8_t { read, write };

/// What the access means to other threads, for the judge (judge/judge.hpp): `strong` accesses (atomic,
/// relaxed) do not race with each other, `ordering` ones (acquire, release, volatile) also order the accesses
/// around them, `barrier` uses an mbarrier, `apart` leaves it to the instruction to report what it does, and
/// when.
enum class Manner : std::uint8_t { weak, strong, ordering, barrier, apart };

/// The access of an instruction at an address.
struct Reach {
  StateSpace space = StateSpace::generic;
  Access access = Access::read;
  std::uint32_t bytes = 4;      ///< per lane
  std::uint32_t alignment = 4;  ///< of the address, a power of two
  Manner manner = Manner::weak;
  bool acquires = false, releases = false;  ///< of Manner::ordering
  bool updates = false;                     ///< it reads and writes
  Scope scope = Scope::gpu;                 ///< of a strong access
  std::uint32_t element = 0;  ///< bytes of an element of a vector or packed type; 0: all are one
  bool read_only = false;     ///< ld.global.nc, ldu
  std::uint32_t sinks = 0;    ///< bit mask of elements that are `_`: they are not accessed

  AccessKind kind() const {
    if (manner != Manner::weak) return AccessKind::strong_of(scope, element != 0 ? element : bytes);
    return {.read_only = read_only};
  }
  /// Calls f(offset, bytes) for the accesses that it consists of: those of the elements of a vector or packed
  /// type (PTX ISA 8.2.4, 8.2.5).
  template <class F>
  void for_elements(F f) const {
    const std::uint32_t size = element != 0 ? element : bytes;
    for (std::uint32_t offset = 0; offset < bytes; offset += size)
      if ((sinks >> offset / size & 1) == 0) f(offset, size);
  }
  /// Calls f(offset, part) for what is accessed between sinks: all as one if there are none.
  template <class F>
  void for_parts(F f) const {
    if (sinks == 0) return f(std::uint32_t{0}, *this);
    for_elements([&](std::uint32_t offset, std::uint32_t size) {
      Reach part = *this;
      part.bytes = size;
      part.sinks = 0;
      f(offset, part);
    });
  }
};

/// The address in operand `slot` of a lane: register plus displacement.
std::uint64_t address_of(Warp& warp, const Slot& slot, int lane);

/// The host memory at an address. Misuse is a fault: "null-address", "out-of-bounds", "misaligned",
/// "read-only".
std::byte* resolve(Warp& warp, const Operation& op, int lane, std::uint64_t address, const Reach& reach);

/// Whether the shared memory of a thread block has the bytes: the kernel's own, or the reserved part.
bool has_shared(const Grid& grid, std::uint64_t offset, std::uint64_t bytes);

/// Shared memory, and the thread block it belongs to.
struct SharedPlace {
  Block* block = nullptr;
  std::uint32_t offset = 0;
  std::byte* data = nullptr;
};
/// The same for instructions that access only shared memory: `reach.space` is shared, cluster, or generic.
/// Additional faults: "not-shared", "other-block", "exited-block".
SharedPlace resolve_shared(Warp& warp, const Operation& op, int lane, std::uint64_t address, Reach reach);

using Pointers = std::array<std::byte*, kLanes>;
/// The same for the lanes of `mask`; other pointers are not changed.
void resolve(Warp& warp, const Operation& op, Mask mask, const Slot& slot, const Reach& reach,
             Pointers& pointers);

/// The allocation that holds [address, address + bytes), or null. `all` is sorted by address.
const Memory::Allocation* find_allocation(std::span<const Memory::Allocation> all, std::uint64_t address,
                                          std::size_t bytes);
/// "the block has 1024 bytes of shared memory, 1024 static and 0 dynamic".
std::string describe_shared(const Grid& grid);
/// "4 bytes past the end of allocation d, 400 bytes at 0x1000000000"; considers released allocations too.
std::string describe_nearest(std::span<const Memory::Allocation> all,
                             std::span<const Memory::Allocation> released, std::uint64_t address);

}  // namespace ptxloom::exec
