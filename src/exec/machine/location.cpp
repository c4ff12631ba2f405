// SPDX-License-Identifier: Apache-2.0
#include "exec/machine/location.hpp"

#include <algorithm>
#include <cstring>

#include "exec/judge/judge.hpp"

namespace ptxloom::exec {
namespace {

// A sixteen-byte value occupies two rows of lanes.
Slot row_of(Slot slot, std::size_t row) {
  slot.offset += static_cast<std::uint32_t>(row) * 8 * kLanes;
  return slot;
}
std::size_t rows_of(const Slot& slot) { return slot.bytes == 16 ? 2 : 1; }

std::uint64_t read_row(Warp& warp, const Slot& slot, int lane) {
  if (slot.bytes == 0) return Lanes<bool>(warp.registers(), slot)[lane] ? 1u : 0u;
  if (slot.bytes == 4) return Lanes<std::uint32_t>(warp.registers(), slot)[lane];
  return Lanes<std::uint64_t>(warp.registers(), slot)[lane];
}

void write_row(Warp& warp, const Slot& slot, int lane, std::uint64_t value) {
  if (slot.bytes == 0) return Lanes<bool>(warp.registers(), slot).set(lane, value != 0);
  if (slot.bytes == 4)
    return Lanes<std::uint32_t>(warp.registers(), slot).set(lane, static_cast<std::uint32_t>(value));
  Lanes<std::uint64_t>(warp.registers(), slot).set(lane, value);
}

}  // namespace

Value read(Warp& warp, const Slot& slot, int lane) {
  Value value;
  for (std::size_t i = 0; i < rows_of(slot); ++i) {
    value.bits.at(i) = read_row(warp, row_of(slot, i), lane);
    if (Judge* judge = warp.judge())
      value.undefined.at(i) = judge->registers_of(warp).undefined(row_of(slot, i), lane);
  }
  return value;
}

void write(Warp& warp, const Slot& slot, int lane, const Value& value) {
  for (std::size_t i = 0; i < rows_of(slot); ++i) {
    write_row(warp, row_of(slot, i), lane, value.bits.at(i));
    if (Judge* judge = warp.judge())
      judge->registers_of(warp).set(row_of(slot, i), lane, value.undefined.at(i));
  }
}

Value read(Warp& warp, const Located& from, int lane) {
  if (!from.location.in_memory) return read(warp, from.location.slot, lane);
  Value value;
  const std::size_t bytes = std::min<std::size_t>(from.location.bytes, sizeof value.bits);
  std::memcpy(&value.bits, warp.local(lane) + from.offset(), bytes);
  if (Judge* judge = warp.judge())
    std::memcpy(&value.undefined, judge->local_bits(warp, lane, from.offset(), bytes).data(), bytes);
  return value;
}

void write(Warp& warp, const Located& to, int lane, const Value& value) {
  if (!to.location.in_memory) return write(warp, to.location.slot, lane, value);
  const std::size_t bytes = std::min<std::size_t>(to.location.bytes, sizeof value.bits);
  std::memcpy(warp.local(lane) + to.offset(), &value.bits, bytes);
  if (Judge* judge = warp.judge())
    std::memcpy(judge->local_bits(warp, lane, to.offset(), bytes).data(), &value.undefined, bytes);
}

void copy(Warp& warp, int lane, const Located& from, const Located& to) {
  if (!from.location.in_memory || !to.location.in_memory)
    return write(warp, to, lane, read(warp, from, lane));
  const std::size_t bytes = std::min(from.location.bytes, to.location.bytes);
  std::memmove(warp.local(lane) + to.offset(), warp.local(lane) + from.offset(), bytes);
  if (Judge* judge = warp.judge()) judge->move_local(warp, lane, to.offset(), from.offset(), bytes);
}

}  // namespace ptxloom::exec
