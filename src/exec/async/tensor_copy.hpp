// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "exec/async/tensor_box.hpp"
#include "exec/machine/block.hpp"
#include "exec/machine/fault.hpp"
#include "exec/memory/address.hpp"

// A tensor copy that a thread issues: its map, read and checked, the rows it moves, and where their bytes lie
// in global and shared memory.
namespace ptxloom::exec {

/// The alignment of a copy in global memory, and its granularity: it writes whole units, even past the end of
/// a row.
inline constexpr std::uint32_t kTensorChunk = 16;

/// The decoded form of an instruction. Operand indices; -1 if the variant has none.
struct TensorPlan {
  TensorMode mode = TensorMode::tile;
  std::uint32_t rank = 1;
  StateSpace shared = StateSpace::shared;
  std::size_t shared_address = 0, map = 0, coordinates = 0, coordinate_count = 1;
  int barrier = -1, offsets = -1, mask = -1;
  std::size_t offset_count = 0;
  bool pair = false;  // cta_group::2: the mbarrier may be in the other thread block of the pair
  std::string_view reduction;
};

/// One lane's copy.
struct TensorCopy {
  Actor actor;
  const TensorPlan& plan;
  TensorMap map;
  TensorUnit unit;  ///< of the map
  TensorBox box;
  std::vector<TensorPoint> rows;
  const std::byte* judged_map = nullptr;  ///< where the map is, if the kernel may change it and is judged

  std::uint64_t address(std::size_t operand) const {
    return address_of(*actor.warp, actor.op->slot(operand), actor.lane);
  }
  std::uint32_t shared_bytes() const { return static_cast<std::uint32_t>(rows.size()) * row_pitch(map); }
  std::uint32_t counted_bytes() const { return static_cast<std::uint32_t>(rows.size()) * row_bytes(map); }
};

/// One element of an operand, which may be a vector.
std::int64_t operand_value(const Actor& actor, std::size_t operand, std::size_t element);

/// Faults: "tensor-map" for an invalid map, or one that does not suit the instruction; "tensor-coordinates".
TensorCopy copy_of(const Actor& actor, const TensorPlan& plan);

/// Units [first, last) of a row that are accessed: those in the tensor, and for writes whole chunks. Empty
/// for a row outside the tensor.
struct Inside {
  std::int64_t first = 0, last = 0;
};
Inside inside(const TensorCopy& copy, const TensorPoint& row);

/// The host address of those units.
std::byte* global_bytes(const TensorCopy& copy, const TensorPoint& row, const Inside& in, Access access);

/// The shared memory of the whole box.
SharedPlace shared_place(const TensorCopy& copy, std::uint64_t address, Access access);

/// Calls f(shared, begin, bytes) for the pieces that contain bytes [begin, begin + count) of a row.
template <class F>
void for_chunks(const TensorCopy& copy, const SharedPlace& place, std::size_t row, std::uint32_t begin,
                std::uint32_t count, F f) {
  const std::uint32_t chunk = swizzle_chunk(copy.map), end = begin + count;
  const auto line = static_cast<std::uint32_t>(row) * row_pitch(copy.map);
  while (begin < end) {
    const std::uint32_t bytes = std::min(end, (begin / chunk + 1) * chunk) - begin;
    f(place.block->shared().data() + swizzled(copy.map, place.offset + line + begin), begin, bytes);
    begin += bytes;
  }
}

}  // namespace ptxloom::exec
