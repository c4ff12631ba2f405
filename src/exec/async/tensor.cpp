// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>

#include "exec/async/tensor_copy.hpp"
#include "exec/async/transfer.hpp"
#include "exec/machine/cluster.hpp"
#include "exec/machine/decoder.hpp"
#include "exec/machine/fault.hpp"
#include "exec/machine/poison.hpp"
#include "exec/memory/out_of_bounds.hpp"

// Tensor copies and reductions (PTX ISA 9.7.9.27.1): tensor_box.hpp lists the pieces they move.
namespace ptxloom::exec {
namespace {

// The pattern of elements outside the tensor.
std::array<std::byte, 8> fill_of(const TensorMap& map) {
  std::array<std::byte, 8> pattern{};
  if (map.fill == TensorFill::zero) return pattern;
  for (std::uint32_t i = 0; i < 8; ++i)
    pattern[i] = static_cast<std::byte>(i % 2 == 0 ? kOutOfBoundsNan & 0xff : kOutOfBoundsNan >> 8);
  return pattern;
}

// The contents of padding.
constexpr std::array<std::byte, 8> kUndefined = [] {
  std::array<std::byte, 8> bytes{};
  bytes.fill(static_cast<std::byte>(kPoison));
  return bytes;
}();

// Elements of tf32 maps are rounded to nearest even on arrival, and every NaN becomes the same one.
void round_to_tf32(std::span<std::byte> bytes) {
  for (std::size_t i = 0; i < bytes.size(); i += sizeof(std::uint32_t)) {
    std::uint32_t value = 0;
    std::memcpy(&value, bytes.data() + i, sizeof value);
    const std::uint32_t magnitude = value & 0x7fffffff;
    if (magnitude > 0x7f800000)
      value = 0x7fffe000;
    else
      value = (value + 0xfff + (value >> 13 & 1)) & ~0x1fffu;
    std::memcpy(bytes.data() + i, &value, sizeof value);
  }
}

// A row into shared memory; units that are padded there are copied one by one.
void add_load_row(Transfer& transfer, const TensorCopy& copy, const SharedPlace& to, std::size_t number) {
  const TensorUnit unit = copy.unit;
  const TensorPoint& row = copy.rows[number];
  const Inside in = inside(copy, row);
  const std::byte* from = in.first < in.last ? global_bytes(copy, row, in, Access::read) : nullptr;
  const bool padded = unit.global_bytes != unit.shared_bytes;
  const std::int64_t units = row_elements(copy.map) / unit.elements;
  const auto add = [&](std::int64_t first, std::int64_t last, const std::byte* source) {
    const auto begin = static_cast<std::uint32_t>(first) * unit.shared_bytes;
    const auto count =
        static_cast<std::uint32_t>(last - first) * (padded ? unit.global_bytes : unit.shared_bytes);
    for_chunks(copy, to, number, begin, count, [&](std::byte* at, std::uint32_t offset, std::uint32_t bytes) {
      transfer.add(
          {.to = at, .from = source == nullptr ? nullptr : source + (offset - begin), .bytes = bytes});
    });
    if (!padded) return;
    for_chunks(copy, to, number, begin + unit.global_bytes, unit.shared_bytes - unit.global_bytes,
               [&](std::byte* at, std::uint32_t, std::uint32_t bytes) {
                 transfer.add({.to = at, .from = kUndefined.data(), .bytes = bytes});
               });
  };
  const std::int64_t step = padded ? 1 : units;
  for (std::int64_t i = 0; i < units;) {
    const bool has_source = i >= in.first && i < in.last;
    const std::int64_t border = i < in.first ? in.first : has_source ? in.last : units;
    const std::int64_t next = std::min(i + step, std::max(border, i + 1));
    add(i, next, has_source ? from + (i - in.first) * unit.global_bytes : nullptr);
    i = next;
  }
}

void load_to(const TensorCopy& copy, std::uint64_t destination, std::uint64_t barrier) {
  const Actor& actor = copy.actor;
  const SharedPlace to = shared_place(copy, destination, Access::write);
  const Reach reach{.space = StateSpace::cluster,
                    .access = Access::write,
                    .bytes = 8,
                    .alignment = 8,
                    .manner = Manner::barrier};
  const SharedPlace counter = resolve_shared(*actor.warp, *actor.op, actor.lane, barrier, reach);
  const std::uint32_t apart = to.block->rank() ^ counter.block->rank();
  if (apart > (copy.plan.pair ? 1u : 0u)) {
    fault(
        actor, "mbarrier-elsewhere",
        fmt::format("the data goes to thread block {} of the cluster, but the mbarrier is in thread block {}",
                    to.block->rank(), counter.block->rank()),
        "use a destination and an mbarrier in the same thread block");
  }
  Transfer transfer(actor);
  transfer.set_fill(fill_of(copy.map));
  transfer.set_map(copy.judged_map);
  if (copy.map.type == tf32) transfer.set_change(round_to_tf32);
  for (std::size_t row = 0; row < copy.rows.size(); ++row) add_load_row(transfer, copy, to, row);
  // The swizzle moves bytes within rows.
  if (copy.counted_bytes() == copy.shared_bytes()) transfer.set_whole(to.data, copy.shared_bytes());
  issue(std::move(transfer), counter, copy.counted_bytes());
}

template <class F>
void for_copies(Warp& warp, const Operation& op, Mask mask, F f) {
  for (Mask rest = mask; rest != 0; rest &= rest - 1)
    f(copy_of({&warp, &op, std::countr_zero(rest)}, op.plan_as<TensorPlan>()));
}

void run_load(Warp& warp, const Operation& op, Mask mask) {
  for_copies(warp, op, mask, [](const TensorCopy& copy) {
    const TensorPlan& plan = copy.plan;
    const std::uint64_t to = copy.address(plan.shared_address);
    const std::uint64_t barrier = copy.address(static_cast<std::size_t>(plan.barrier));
    if (plan.mask < 0) return load_to(copy, to, barrier);
    auto ranks =
        static_cast<std::uint32_t>(operand_value(copy.actor, static_cast<std::size_t>(plan.mask), 0)) &
        0xffff;
    for (; ranks != 0; ranks &= ranks - 1) {
      const auto rank = static_cast<std::uint32_t>(std::countr_zero(ranks));
      const std::uint32_t signalled = plan.pair ? (rank & ~1u) | (shared_rank(barrier) & 1) : rank;
      load_to(copy, shared_base(rank) + shared_offset(to), shared_base(signalled) + shared_offset(barrier));
    }
  });
}

const Reduction* reduction_of(const TensorCopy& copy) {
  if (copy.plan.reduction.empty()) return nullptr;
  const std::string_view op = copy.plan.reduction, element = copy.map.element_name();
  const bool bitwise = op == "and" || op == "or" || op == "xor";
  std::string_view type = copy.map.ftz && element == "f32" ? "f32.ftz" : element;
  if (bitwise) type = element == "u32" || element == "s32" ? "b32" : element == "u64" ? "b64" : "";
  const Reduction* reduction = find_reduction(op, type, false);
  if (reduction == nullptr) {
    fault(copy.actor, "tensor-map", fmt::format("tensors of this type cannot be reduced by .{}", op),
          "use a type that cp.reduce.async.bulk.tensor supports");
  }
  return reduction;
}

void check_store(const TensorCopy& copy) {
  const TensorUnit unit = copy.unit;
  if (unit.global_bytes != unit.shared_bytes) {
    fault(copy.actor, "tensor-map", "the executor does not store padded elements", "run the kernel on a GPU");
  }
  const auto& coordinates = copy.box.coordinates;
  for (std::size_t i = 0; i < copy.plan.coordinate_count; ++i) {
    if (coordinates[i] >= 0) continue;
    fault(copy.actor, "tensor-coordinates", fmt::format("it starts at coordinate {}", coordinates[i]),
          "start within the tensor: TMA stores cannot start outside it");
  }
  for (std::size_t i = 0; copy.map.image && i + 2 < copy.map.rank; ++i) {
    if (copy.map.image->lower[i] >= 0 && copy.map.image->upper[i] <= 0) continue;
    fault(copy.actor, "tensor-map", "the box of the tensor map reaches beyond the tensor",
          "TMA stores need corners within the tensor: lower ones of at least 0, upper ones of at most 0");
  }
}

void run_store(Warp& warp, const Operation& op, Mask mask) {
  for_copies(warp, op, mask, [](const TensorCopy& copy) {
    check_store(copy);
    const SharedPlace from = shared_place(copy, copy.address(copy.plan.shared_address), Access::read);
    const std::uint32_t unit = copy.unit.global_bytes;
    Transfer transfer(copy.actor, reduction_of(copy));
    transfer.set_map(copy.judged_map);
    for (std::size_t row = 0; row < copy.rows.size(); ++row) {
      const Inside in = inside(copy, copy.rows[row]);
      if (in.first == in.last) continue;
      std::byte* to = global_bytes(copy, copy.rows[row], in, Access::write);
      const auto begin = static_cast<std::uint32_t>(in.first) * unit;
      for_chunks(copy, from, row, begin, static_cast<std::uint32_t>(in.last - in.first) * unit,
                 [&](const std::byte* at, std::uint32_t offset, std::uint32_t bytes) {
                   transfer.add({.to = to + (offset - begin), .from = at, .bytes = bytes});
                 });
    }
    issue(std::move(transfer));
  });
}

// A hint, but the tensor map must be valid, and stay as it is.
void run_prefetch(Warp& warp, const Operation& op, Mask mask) {
  if (op.plan_as<TensorPlan>().mode == TensorMode::wide_image) return;
  for_copies(warp, op, mask, [](const TensorCopy& copy) {
    if (copy.judged_map != nullptr)
      copy.actor.warp->judge()->tensor_maps().prefetch(copy.actor, copy.judged_map);
  });
}

TensorMode mode_of(const Decoder& decoder) {
  const std::string_view mode = decoder.word("mode");
  if (mode.empty() || mode == "tile") return TensorMode::tile;
  if (mode == "tile::gather4" || mode == "tile::scatter4") return TensorMode::rows;
  if (mode == "im2col" || mode == "im2col_no_offs") return TensorMode::image;
  return TensorMode::wide_image;
}

TensorPlan plan_of(Decoder& decoder, std::string_view shared) {
  const auto number = [&](std::string_view name) { return static_cast<std::size_t>(decoder.operand(name)); };
  const Variant& variant = decoder.variant();
  TensorPlan plan{.mode = mode_of(decoder),
                  .rank = static_cast<std::uint32_t>(decoder.word("dim")[0] - '0'),
                  .map = number("MAP"),
                  .coordinates = number("C"),
                  .coordinate_count = static_cast<std::size_t>(variant.operand("C").registers()),
                  .barrier = decoder.operand("M"),
                  .offsets = decoder.operand("OFFSETS"),
                  .mask = decoder.operand("MASK"),
                  .pair = decoder.word("group") == "cta_group::2",
                  .reduction = decoder.word("op")};
  if (!shared.empty()) {
    plan.shared_address = number(shared);
    plan.shared = find_space(variant.operand(shared).space).value_or(StateSpace::shared);
  }
  if (plan.offsets >= 0) plan.offset_count = static_cast<std::size_t>(variant.operand("OFFSETS").registers());
  if (!plan.reduction.empty()) decoder.mark_communicating();
  return plan;
}

void emit(Decoder& decoder, Semantic run, std::string_view shared) {
  Operation op = decoder.operation(run);
  op.plan = std::make_shared<TensorPlan>(plan_of(decoder, shared));
  decoder.emit(std::move(op));
}

void decode_load(Decoder& decoder) { emit(decoder, &run_load, "D"); }
void decode_store(Decoder& decoder) { emit(decoder, &run_store, "A"); }
void decode_prefetch(Decoder& decoder) { emit(decoder, &run_prefetch, ""); }

constexpr std::array kForms{
    Semantics{"cp.async.bulk.tensor.global_to_shared", decode_load, {FlowRule::decides}},
    Semantics{"cp.async.bulk.tensor.shared_to_global", decode_store, {FlowRule::decides}},
    Semantics{"cp.reduce.async.bulk.tensor", decode_store, {FlowRule::decides}},
    Semantics{"cp.async.bulk.prefetch.tensor", decode_prefetch, {FlowRule::decides}},
};

}  // namespace

std::span<const Semantics> tensor_semantics() { return kForms; }

}  // namespace ptxloom::exec
