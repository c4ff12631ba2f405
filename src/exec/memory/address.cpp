// SPDX-License-Identifier: Apache-2.0
#include "exec/memory/address.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "exec/judge/judge.hpp"
#include "exec/machine/block.hpp"
#include "exec/machine/cluster.hpp"
#include "exec/machine/fault.hpp"
#include "exec/machine/warp.hpp"
#include "exec/watch/traffic.hpp"

namespace ptxloom::exec {
namespace {

std::string describe(const Memory::Allocation& allocation) {
  return fmt::format("allocation{}{}, {} bytes at {:#x}", allocation.name.empty() ? "" : " ", allocation.name,
                     allocation.bytes, allocation.address);
}

std::string_view name_of(StateSpace space) {
  switch (space) {
    case StateSpace::generic:
      return "generic";
    case StateSpace::global:
      return "global";
    case StateSpace::shared:
    case StateSpace::cluster:
      return "shared";
    case StateSpace::local:
      return "local";
    case StateSpace::constant:
      return "constant";
    case StateSpace::param:
      return "parameter";
  }
  return "";
}

std::string describe_reach(const Reach& reach, std::uint64_t address) {
  return fmt::format("{} {} bytes at {:#x} of {} memory", reach.access == Access::read ? "reads" : "writes",
                     reach.bytes, address, name_of(reach.space));
}

// A space that is one piece of memory, addressed from 0. Each thread block has its own shared memory.
std::span<std::byte> piece(Warp& warp, int lane, StateSpace space) {
  const Code& code = warp.block().grid().code();
  const auto writable = [](std::span<const std::byte> bytes) {  // resolve() has refused writes to these
    return std::span(const_cast<std::byte*>(bytes.data()), bytes.size());
  };
  switch (space) {
    case StateSpace::local:
      return {warp.local(lane), code.local_bytes};
    case StateSpace::constant:
      return writable(code.constants);
    case StateSpace::param:
      return writable(warp.block().grid().launch().parameters.first(code.parameter_bytes));
    default:
      break;
  }
  return {};
}

bool is_shared(StateSpace space) { return space == StateSpace::shared || space == StateSpace::cluster; }

[[noreturn]] void global_out_of_bounds(Warp& warp, const Operation& op, int lane, std::uint64_t address,
                                       const std::string& access) {
  constexpr const char* hint =
      "check the index against the size of the buffer, and the guard of the last tile";
  const Grid& grid = warp.block().grid();
  const auto released = grid.memory().released();
  const auto beside = describe_beside(grid.code(), grid.launch(), grid.allocations(), released, address);
  if (!beside)
    fault(warp, op, lane_bit(lane), "out-of-bounds",
          access + ", " + describe_nearest(grid.allocations(), released, address), hint);
  fault(Actor{&warp, &op, lane}, {.code = "out-of-bounds", .address = beside->address},
        fmt::format("{}: {}, {}", access, beside->address, beside->where), hint);
}

[[noreturn]] void out_of_bounds(Warp& warp, const Operation& op, int lane, std::uint64_t address,
                                const Reach& reach) {
  const Grid& grid = warp.block().grid();
  const std::string access = describe_reach(reach, address);
  if (reach.space == StateSpace::global) {
    if (address < 4096) {
      fault(warp, op, lane_bit(lane), "null-address", access,
            "the pointer is null: check the argument it comes from and the order of parameters");
    }
    global_out_of_bounds(warp, op, lane, address, access);
  }
  const std::string room =
      is_shared(reach.space) ? describe_shared(grid)
                             : fmt::format("there are {} bytes of it", piece(warp, lane, reach.space).size());
  fault(warp, op, lane_bit(lane), "out-of-bounds", access + "; " + room,
        is_shared(reach.space) ? "launch with enough dynamic shared memory, and check the index"
                               : "check the address against the declarations");
}

void check_access(Warp& warp, const Operation& op, int lane, std::uint64_t address, const Reach& reach) {
  if ((address & (reach.alignment - 1)) != 0) {
    fault(warp, op, lane_bit(lane), "misaligned",
          fmt::format("{}, which is not a multiple of {}", describe_reach(reach, address), reach.alignment),
          "align the address to the size of the whole access, vectors included");
  }
  if (reach.access == Access::write &&
      (reach.space == StateSpace::constant || reach.space == StateSpace::param)) {
    fault(warp, op, lane_bit(lane), "read-only", describe_reach(reach, address), "write to another space");
  }
}

// The thread block whose shared memory an address is in.
Block& block_of(Warp& warp, const Operation& op, int lane, std::uint64_t address, const Reach& reach) {
  Block& own = warp.block();
  const std::uint64_t rank = address >> kRankShift;
  if (rank == own.rank()) return own;
  if (rank >= own.cluster().blocks().size()) out_of_bounds(warp, op, lane, address, reach);
  if (reach.space == StateSpace::shared) {
    fault(warp, op, lane_bit(lane), "other-block",
          fmt::format("{}, of thread block {} of the cluster, but the thread is in thread block {}",
                      describe_reach(reach, address), rank, own.rank()),
          "use .shared::cluster, or an address of the own thread block");
  }
  Block& other = own.cluster().block(static_cast<std::uint32_t>(rank));
  if (other.ended()) {
    fault(warp, op, lane_bit(lane), "exited-block",
          fmt::format("{}, of thread block {} of the cluster, whose threads have exited",
                      describe_reach(reach, address), rank),
          "keep thread blocks from exiting while others use their shared memory (barrier.cluster)");
  }
  return other;
}

// Whether an observer needs each lane's access. Plain loads of global memory tell the judge something only if
// it looks for races there.
bool is_watched(const Warp& warp, const Reach& reach) {
  const bool plain =
      reach.space == StateSpace::global && reach.access == Access::read && reach.manner == Manner::weak;
  return warp.traffic() != nullptr || (warp.judge() != nullptr && (!plain || warp.judge()->watches_global()));
}

SharedPlace place_of(Warp& warp, const Operation& op, int lane, std::uint64_t address, const Reach& reach) {
  Block& block = block_of(warp, op, lane, address, reach);
  const std::uint32_t offset = shared_offset(address);
  if (!has_shared(block.grid(), offset, reach.bytes)) out_of_bounds(warp, op, lane, address, reach);
  const SharedPlace place{.block = &block, .offset = offset, .data = block.shared().data() + offset};
  if (Judge* judge = warp.judge()) judge->access({&warp, &op, lane}, place, reach);
  if (Traffic* traffic = warp.traffic()) traffic->access(Traffic::Kind::shared, offset, reach.bytes);
  return place;
}

}  // namespace

bool has_shared(const Grid& grid, std::uint64_t offset, std::uint64_t bytes) {
  const auto reserved = grid.reserved_shared();
  const std::size_t begin = offset < reserved.begin ? 0 : reserved.begin;
  const std::size_t end = offset < reserved.begin ? grid.own_shared_bytes() : reserved.end;
  return offset >= begin && offset <= end && end - offset >= bytes;
}

std::optional<StateSpace> find_space(std::string_view word) {
  if (word.empty() || word == "-") return StateSpace::generic;
  if (word == "global") return StateSpace::global;
  if (word == "shared" || word == "shared::cta") return StateSpace::shared;
  if (word == "shared::cluster") return StateSpace::cluster;
  if (word == "local") return StateSpace::local;
  if (word == "const") return StateSpace::constant;
  if (word == "param" || word == "param::entry") return StateSpace::param;
  return std::nullopt;
}

StateSpace space_of(std::uint64_t generic) {
  for (const StateSpace space :
       {StateSpace::shared, StateSpace::local, StateSpace::constant, StateSpace::param}) {
    if (generic - window(space) < kWindowBytes) return space;
  }
  return StateSpace::global;
}

std::uint64_t address_of(Warp& warp, const Slot& slot, int lane) {
  const auto displacement = static_cast<std::uint64_t>(slot.displacement);
  if (slot.bytes == 4) {  // 32-bit addresses wrap at 32 bits
    return static_cast<std::uint32_t>(Lanes<std::uint32_t>(warp.registers(), slot)[lane] + displacement);
  }
  return Lanes<std::uint64_t>(warp.registers(), slot)[lane] + displacement;
}

std::byte* resolve(Warp& warp, const Operation& op, int lane, std::uint64_t address, const Reach& asked) {
  Reach reach = asked;
  if (reach.space == StateSpace::generic) {
    reach.space = space_of(address);
    address -= window(reach.space);
    if (reach.space == StateSpace::shared) reach.space = StateSpace::cluster;
  }
  check_access(warp, op, lane, address, reach);
  if (reach.space == StateSpace::global) {
    const auto* allocation = find_allocation(warp.block().grid().allocations(), address, reach.bytes);
    if (allocation == nullptr) out_of_bounds(warp, op, lane, address, reach);
    std::byte* memory = allocation->data + (address - allocation->address);
    if (Judge* judge = warp.judge()) judge->access({&warp, &op, lane}, memory, reach);
    if (Traffic* traffic = warp.traffic()) traffic->access(Traffic::Kind::global, address, reach.bytes);
    return memory;
  }
  if (is_shared(reach.space)) return place_of(warp, op, lane, address, reach).data;
  const std::span<std::byte> memory = piece(warp, lane, reach.space);
  if (address > memory.size() || memory.size() - address < reach.bytes)
    out_of_bounds(warp, op, lane, address, reach);
  if (Judge* judge = warp.judge(); judge != nullptr && reach.space == StateSpace::local)
    judge->access_local({&warp, &op, lane}, address, reach);
  return memory.data() + address;
}

SharedPlace resolve_shared(Warp& warp, const Operation& op, int lane, std::uint64_t address, Reach reach) {
  if (reach.space == StateSpace::generic) {
    if (space_of(address) != StateSpace::shared) {
      fault(warp, op, lane_bit(lane), "not-shared",
            describe_reach(reach, address) + ", outside shared memory",
            "use an address of shared memory (cvta.shared, mapa)");
    }
    address -= window(StateSpace::shared);
    reach.space = StateSpace::cluster;
  }
  check_access(warp, op, lane, address, reach);
  return place_of(warp, op, lane, address, reach);
}

void resolve(Warp& warp, const Operation& op, Mask mask, const Slot& slot, const Reach& reach,
             Pointers& pointers) {
  if (is_watched(warp, reach)) {
    for_lanes(mask, [&](int lane) {
      pointers[static_cast<std::size_t>(lane)] = resolve(warp, op, lane, address_of(warp, slot, lane), reach);
    });
    return;
  }
  const std::uint64_t misaligned = reach.alignment - 1;
  const Memory::Allocation* last = nullptr;  // lanes mostly share an allocation
  const std::span<std::byte> shared =
      std::span(warp.block().shared()).first(warp.block().grid().own_shared_bytes());
  const std::uint64_t base = shared_base(warp.block().rank());
  for_lanes(mask, [&](int lane) {
    const std::uint64_t address = address_of(warp, slot, lane);
    std::byte*& pointer = pointers[static_cast<std::size_t>(lane)];
    if (reach.space == StateSpace::shared) {
      const std::uint64_t offset = address - base;
      const bool within = offset <= shared.size() && shared.size() - offset >= reach.bytes;
      pointer = within && (address & misaligned) == 0 ? shared.data() + offset
                                                      : resolve(warp, op, lane, address, reach);
      return;
    }
    if (reach.space != StateSpace::global) {
      pointer = resolve(warp, op, lane, address, reach);
      return;
    }
    if (last == nullptr || address - last->address > last->bytes ||
        last->bytes - (address - last->address) < reach.bytes) {
      last = find_allocation(warp.block().grid().allocations(), address, reach.bytes);
    }
    if (last == nullptr || (address & misaligned) != 0) resolve(warp, op, lane, address, reach);  // throws
    pointer = last->data + (address - last->address);
  });
}

const Memory::Allocation* find_allocation(std::span<const Memory::Allocation> all, std::uint64_t address,
                                          std::size_t bytes) {
  const auto behind = std::ranges::upper_bound(all, address, {}, &Memory::Allocation::address);
  if (behind == all.begin()) return nullptr;
  const Memory::Allocation& allocation = *std::prev(behind);
  const std::uint64_t offset = address - allocation.address;
  return offset <= allocation.bytes && allocation.bytes - offset >= bytes ? &allocation : nullptr;
}

std::string describe_shared(const Grid& grid) {
  return fmt::format("the thread block has {} bytes of shared memory, {} static and {} dynamic",
                     grid.own_shared_bytes(), grid.code().static_shared_bytes, grid.launch().shared_bytes);
}

std::string describe_nearest(std::span<const Memory::Allocation> all,
                             std::span<const Memory::Allocation> released, std::uint64_t address) {
  for (const Memory::Allocation& gone : released) {
    if (address - gone.address < gone.bytes) return "within a released " + describe(gone);
  }
  if (all.empty()) return "and nothing is allocated";
  const auto distance = [&](const Memory::Allocation& a) {
    if (address < a.address) return a.address - address;
    return address - a.address < a.bytes ? 0 : address - a.address - a.bytes;
  };
  const Memory::Allocation& nearest = *std::ranges::min_element(all, {}, distance);
  if (address < nearest.address)
    return fmt::format("{} bytes before {}", distance(nearest), describe(nearest));
  if (address - nearest.address < nearest.bytes) return "reaching over the end of " + describe(nearest);
  return fmt::format("{} bytes past the end of {}", distance(nearest), describe(nearest));
}

}  // namespace ptxloom::exec
