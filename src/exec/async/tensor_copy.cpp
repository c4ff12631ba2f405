// SPDX-License-Identifier: Apache-2.0
#include "exec/async/tensor_copy.hpp"

#include <fmt/format.h>

#include <string>

#include "exec/judge/judge.hpp"
#include "exec/machine/warp.hpp"
#include "exec/memory/element.hpp"
#include "ptxloom/error.hpp"

namespace ptxloom::exec {
namespace {

TensorMap read_map(const Actor& actor, const TensorPlan& plan, const std::byte*& place) {
  const Reach reach{.space = StateSpace::generic, .bytes = 128, .alignment = 64};
  const std::uint64_t address = address_of(*actor.warp, actor.op->slot(plan.map), actor.lane);
  const std::byte* bytes = resolve(*actor.warp, *actor.op, actor.lane, address, reach);
  const auto map = decode_for_executor(std::span<const std::byte, 128>(bytes, 128));
  if (!map) {
    fault(actor, "tensor-map", "there is no tensor map at " + describe_address(address),
          "pass the map that Context::encode or encode_for_executor made, at a multiple of 64 bytes");
  }
  if (Judge* judge = actor.warp->judge(); judge != nullptr && space_of(address) == StateSpace::global) {
    judge->tensor_maps().use(actor, bytes);
    place = bytes;
  }
  try {
    map->check();
  } catch (const Error& error) {
    fault(actor, "tensor-map", error.diagnostics()[0].message, error.diagnostics()[0].hint);
  }
  return *map;
}

void check_use(const TensorCopy& copy) {
  if (copy.plan.mode == TensorMode::wide_image) {
    fault(copy.actor, "exec-unsupported",
          "the executor does not support the modes im2col::w and im2col_no_offs::w",
          "run the kernel on a GPU, or use im2col");
  }
  const TensorMap& map = copy.map;
  const auto refuse = [&](const std::string& what, const char* hint) {
    fault(copy.actor, "tensor-map", what, hint);
  };
  if (map.rank != copy.plan.rank)
    refuse(
        fmt::format("the tensor map has rank {}, but the instruction has rank {}", map.rank, copy.plan.rank),
        "use a map of that rank");
  if (map.image.has_value() != (copy.plan.mode == TensorMode::image))
    refuse(map.image ? "the tensor map is for im2col, but the instruction is not"
                     : "the instruction is for im2col, but the tensor map is not",
           "make the map for the mode of the instruction");
  if (copy.plan.mode == TensorMode::rows && map.box[1] != 1)
    refuse("the box has more than one row", "use a box of one row with gather4 and scatter4");
  if (map.interleave != TensorInterleave::none || map.swizzle == TensorSwizzle::by_96_bytes)
    refuse("the executor does not support interleaved tensors or swizzles of 96 bytes",
           "run the kernel on a GPU");
}

// Where this refuses, a GPU reports an illegal instruction.
void check_start(const TensorCopy& copy) {
  const TensorMap& map = copy.map;
  const TensorUnit unit = map.unit();
  const auto step = static_cast<std::int32_t>(std::max(kTensorChunk / unit.global_bytes, 1u) * unit.elements);
  const auto& start = copy.box.coordinates;
  if (start[0] % step != 0) {
    fault(copy.actor, "tensor-coordinates",
          fmt::format("it starts at element {} of a row, which is not at a multiple of 16 bytes", start[0]),
          fmt::format("use a multiple of {} as the first coordinate", step));
  }
  for (std::size_t i = 1; map.image && i + 1 < map.rank; ++i) {
    const std::int64_t first = map.image->lower[i - 1],
                       last = static_cast<std::int64_t>(map.dims[i]) - 1 + map.image->upper[i - 1];
    if (start[i] >= first && start[i] <= last) continue;
    fault(copy.actor, "tensor-coordinates",
          fmt::format("it starts at coordinate {} of dimension {}, outside the corners of the map, {} to {}",
                      start[i], i, first, last),
          "start within the corners of the tensor map");
  }
}

}  // namespace

std::int64_t operand_value(const Actor& actor, std::size_t operand, std::size_t element) {
  const Slot& slot = actor.op->slots[actor.op->first[operand] + element];
  return static_cast<std::int64_t>(read_element(actor.warp->registers(), slot, actor.lane));
}

TensorCopy copy_of(const Actor& actor, const TensorPlan& plan) {
  TensorCopy copy{
      .actor = actor, .plan = plan, .map = {}, .unit = {}, .box = {.mode = plan.mode}, .rows = {}};
  copy.map = read_map(actor, plan, copy.judged_map);
  copy.unit = copy.map.unit();
  check_use(copy);
  for (std::size_t i = 0; i < plan.coordinate_count; ++i)
    copy.box.coordinates[i] = static_cast<std::int32_t>(operand_value(actor, plan.coordinates, i));
  for (std::size_t i = 0; i < plan.offset_count; ++i)
    copy.box.offsets[i] =
        static_cast<std::uint16_t>(operand_value(actor, static_cast<std::size_t>(plan.offsets), i));
  check_start(copy);
  copy.rows = rows_of(copy.map, copy.box);
  return copy;
}

Inside inside(const TensorCopy& copy, const TensorPoint& row) {
  for (std::size_t i = 1; i < copy.map.rank; ++i) {
    if (row[i] < 0 || row[i] >= static_cast<std::int64_t>(copy.map.dims[i])) return {};
  }
  const TensorUnit& unit = copy.unit;
  const std::int64_t units = row_elements(copy.map) / unit.elements, begin = row[0] / unit.elements;
  std::int64_t all = static_cast<std::int64_t>(copy.map.dims[0]) / unit.elements;
  if (copy.plan.barrier < 0) {  // to global memory
    const std::int64_t chunk = std::max(kTensorChunk / unit.global_bytes, 1u);
    all = (all + chunk - 1) / chunk * chunk;
  }
  const std::int64_t first = std::clamp<std::int64_t>(-begin, 0, units);
  return {first, std::clamp<std::int64_t>(all - begin, first, units)};
}

std::byte* global_bytes(const TensorCopy& copy, const TensorPoint& row, const Inside& in, Access access) {
  const TensorUnit& unit = copy.unit;
  const std::int64_t begin = row[0] / unit.elements + in.first;
  std::uint64_t address = copy.map.address + static_cast<std::uint64_t>(begin) * unit.global_bytes;
  for (std::size_t i = 1; i < copy.map.rank; ++i)
    address += static_cast<std::uint64_t>(row[i]) * copy.map.strides[i - 1];
  const Reach reach{.space = StateSpace::global,
                    .access = access,
                    .bytes = static_cast<std::uint32_t>(in.last - in.first) * unit.global_bytes,
                    .alignment = 1,
                    .manner = Manner::apart};
  return resolve(*copy.actor.warp, *copy.actor.op, copy.actor.lane, address, reach);
}

SharedPlace shared_place(const TensorCopy& copy, std::uint64_t address, Access access) {
  const Reach reach{.space = copy.plan.shared,
                    .access = access,
                    .bytes = copy.shared_bytes(),
                    .alignment = 128,
                    .manner = Manner::apart};
  return resolve_shared(*copy.actor.warp, *copy.actor.op, copy.actor.lane, address, reach);
}

}  // namespace ptxloom::exec
