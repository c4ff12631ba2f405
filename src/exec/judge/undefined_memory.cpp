// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "exec/judge/undefined.hpp"
#include "exec/machine/cluster.hpp"

// Undefined bits on their way between registers and memory.
namespace ptxloom::exec {
namespace {

constexpr const char* kWriteFirst = "write the memory before it is read";

bool any_of(std::span<const std::byte> undefined) {
  return std::ranges::any_of(undefined, [](std::byte bits) { return bits != std::byte{}; });
}

}  // namespace

template <class F, class P>
void Undefined::load(const Actor& actor, std::span<const std::byte> undefined, F origin, P is_padding) {
  if (flow_ == nullptr || flow_->rule != FlowRule::loaded || !any_of(undefined)) return;
  RegisterShadow& shadow = registers_of(*actor.warp);
  const std::size_t size = flow_->element_bytes;
  for (std::size_t i = 0; i < flow_->out.size() && (i + 1) * size <= undefined.size(); ++i) {
    if (flow_->out[i].reg == nullptr) continue;
    std::uint64_t bits = 0;
    std::memcpy(&bits, undefined.data() + i * size, size);
    shadow.set(flow_->out[i].slot, actor.lane, bits);
    if (bits == 0) continue;
    set_origin(*actor.warp, flow_->out[i].slot, origin(i * size));
    bool padding = true;
    for (std::size_t byte = i * size; byte < (i + 1) * size; ++byte)
      padding = padding && (undefined[byte] == std::byte{} || is_padding(byte));
    if (padding) shadow.set_padding(flow_->out[i].slot, actor.lane);
  }
}

template <class F>
void Undefined::load(const Actor& actor, MemoryShadow& shadow, std::size_t offset, std::uint32_t bytes,
                     F unwritten) {
  load(
      actor, shadow.bits(offset, bytes),
      [&](std::size_t i) {
        const Origin stored = shadow.origin(offset + i);
        return stored != Origins::kUnwritten ? stored : unwritten(i);
      },
      [&](std::size_t i) { return shadow.is_padding(offset + i, offset, offset + bytes); });
}

void Undefined::read(const Actor& actor, const SharedPlace& place, std::uint32_t bytes) {
  load(actor, shared_[place.block->rank()], place.offset, bytes,
       [&](std::size_t) { return unwritten_shared(*actor.op); });
}

void Undefined::read_local(const Actor& actor, std::uint64_t offset, std::uint32_t bytes) {
  load(actor, local_of(*actor.warp), local_offset(actor.lane, offset), bytes,
       [&](std::size_t i) { return unwritten_local(actor, offset + i); });
}

void Undefined::read_global(const Actor& actor, const std::byte* memory, std::uint32_t bytes) {
  GlobalShadow* const shadow = cluster_->grid().shadow();
  if (shadow == nullptr) return;
  load(
      actor, shadow->bits(memory, bytes),
      [&](std::size_t i) { return unwritten_global(*actor.op, memory + i); },
      [](std::size_t) { return false; });
}

std::byte Undefined::stored_bits(const Actor& actor, std::uint32_t byte) {
  const std::size_t element = byte / flow_->element_bytes;
  if (element >= flow_->in.size()) return {};
  const FlowPiece& piece = flow_->in[element];
  const std::uint64_t bits =
      registers_of(*actor.warp).undefined(piece.slot, actor.lane) & low_bits(piece.bits);
  return static_cast<std::byte>(bits >> 8 * (byte % flow_->element_bytes) & 0xff);
}

void Undefined::store(const Actor& actor, MemoryShadow& shadow, std::size_t offset, std::uint32_t bytes) {
  const std::span undefined = shadow.bits(offset, bytes);
  if (flow_ != nullptr && flow_->rule == FlowRule::update) {
    shadow.set_member(offset, bytes, flow_->element_bytes);
    return update(actor, shadow, offset, bytes);
  }
  const bool exact = flow_ != nullptr && flow_->exact && undefined_in_;
  for (std::uint32_t i = 0; i < bytes; ++i) undefined[i] = exact ? stored_bits(actor, i) : std::byte{};
  shadow.set_member(offset, bytes, flow_ != nullptr && flow_->exact ? flow_->element_bytes : 1);
  if (exact) store_padding(actor, shadow, offset, bytes);
  if (exact) shadow.set_origin(offset, bytes, origin_of_inputs(*actor.warp, *flow_));
}

void Undefined::store_padding(const Actor& actor, MemoryShadow& shadow, std::size_t offset,
                              std::uint32_t bytes) {
  const RegisterShadow& registers = registers_of(*actor.warp);
  const std::span undefined = shadow.bits(offset, bytes);
  for (std::uint32_t i = 0; i < bytes && i / flow_->element_bytes < flow_->in.size(); ++i) {
    const Mask lanes = registers.padding(flow_->in[i / flow_->element_bytes].slot);
    if (undefined[i] != std::byte{} && (lanes >> actor.lane & 1) != 0) shadow.set_padding(offset + i);
  }
}

void Undefined::write(const Actor& actor, const SharedPlace& place, std::uint32_t bytes) {
  store(actor, shared_[place.block->rank()], place.offset, bytes);
}

void Undefined::write_local(const Actor& actor, std::uint64_t offset, std::uint32_t bytes) {
  store(actor, local_of(*actor.warp), local_offset(actor.lane, offset), bytes);
}

// An atomic operation returns what was in memory; exch leaves its operand there.
void Undefined::update(const Actor& actor, MemoryShadow& shadow, std::size_t offset, std::uint32_t bytes) {
  RegisterShadow& registers = registers_of(*actor.warp);
  const std::span undefined = shadow.bits(offset, bytes);
  const bool was = any_of(undefined);
  const bool given = undefined_in_ && std::ranges::any_of(flow_->in, [&](const FlowPiece& piece) {
                       return (registers.undefined(piece.slot, actor.lane) & low_bits(piece.bits)) != 0;
                     });
  const bool stays = was && !flow_->exchanges;
  std::ranges::fill(undefined, given || stays ? std::byte{0xff} : std::byte{});
  if (!was && !given) return;
  Origin origin = was ? shadow.origin(offset) : Origins::kRegister;
  if (origin == Origins::kUnwritten) origin = updates_unwritten(*actor.op);
  if (stays || given)
    shadow.set_origin(offset, bytes, stays ? origin : origin_of_inputs(*actor.warp, *flow_));
  for (const FlowPiece& piece : flow_->out) {
    if (!was || piece.reg == nullptr) continue;
    registers.set(piece.slot, actor.lane, ~std::uint64_t{0});
    set_origin(*actor.warp, piece.slot, origin);
  }
}

void Undefined::report_bytes(const Actor& actor, Origin origin, const std::string& what) {
  Misuse misuse{.code = "undefined-value"};
  const bool known = origin < Origins::kUnwritten;
  if (known) {
    misuse.other_warp = actor.warp;
    misuse.other_op = &cluster_->grid().code().operations[origins_.at(origin).op];
  }
  report(actor, misuse, kWriteFirst,
         [&] { return misuse.other_op == actor.op || !known ? what : what + describe(*actor.warp, origin); });
}

void Undefined::write_global(const Actor& actor, const std::byte* memory, const Reach& reach) {
  const bool stores = flow_ != nullptr && flow_->stores;
  if (stores && undefined_in_) Undefined::stores(*actor.warp, *actor.op, lane_bit(actor.lane));
  GlobalShadow* const shadow = cluster_->grid().shadow();
  if (shadow == nullptr) return;
  const std::span undefined = shadow->bits(memory, reach.bytes);
  if (reach.updates && stores && any_of(undefined)) {
    const Origin origin = unwritten_global(*actor.op, memory);
    if (!flow_->exchanges)
      report_bytes(actor, origin,
                   fmt::format("it updates {}, which nobody has written", global_name(memory)));
    for (const FlowPiece& piece : flow_->out) {
      if (piece.reg == nullptr || !flow_->exchanges) continue;
      registers_of(*actor.warp).set(piece.slot, actor.lane, ~std::uint64_t{0});
      set_origin(*actor.warp, piece.slot, origin);
    }
  }
  if (undefined.empty()) return;
  reach.for_parts([&](std::uint32_t offset, const Reach& part) {
    std::ranges::fill(undefined.subspan(offset, part.bytes), std::byte{});
  });
}

void Undefined::define_global(const std::byte* memory, std::uint32_t bytes) {
  if (GlobalShadow* const shadow = cluster_->grid().shadow())
    std::ranges::fill(shadow->bits(memory, bytes), std::byte{});
}

void Undefined::take(const Actor& actor, const std::byte* memory, std::uint32_t bytes) {
  const std::byte* const local = actor.warp->local(0);
  const std::size_t offset = static_cast<std::size_t>(memory - local);
  const std::size_t local_bytes = cluster_->grid().code().local_bytes;
  std::span<std::byte> undefined;
  Origin origin = Origins::kUnwritten;
  std::string place;
  if (memory >= local && offset < local_bytes * kLanes) {
    undefined = local_of(*actor.warp).bits(offset, bytes);
    origin = local_of(*actor.warp).origin(offset);
    if (any_of(undefined)) place = local_name(*actor.warp, actor.lane, offset % local_bytes);
  } else if (GlobalShadow* const shadow = cluster_->grid().shadow()) {
    undefined = shadow->bits(memory, bytes);
    if (any_of(undefined)) place = global_name(memory);
  }
  if (!any_of(undefined)) return;
  report_bytes(actor, origin,
               origin == Origins::kUnwritten ? fmt::format("it uses {}, which nobody has written", place)
                                             : fmt::format("it uses {}, which is uninitialised", place));
  std::ranges::fill(undefined, std::byte{});
}

void Undefined::define(const SharedPlace& place, std::uint32_t bytes) {
  shared_[place.block->rank()].define(place.offset, bytes);
}

void Undefined::copy(const SharedPlace& to, const SharedPlace& from, std::uint32_t bytes) {
  shared_[to.block->rank()].move(to.offset, shared_[from.block->rank()], from.offset, bytes);
}

void Undefined::copy_in(const Actor& actor, const SharedPlace& to, const std::byte* from,
                        std::uint32_t bytes) {
  GlobalShadow* const global = cluster_->grid().shadow();
  if (global == nullptr) return;
  const std::span undefined = global->bits(from, bytes);
  if (!any_of(undefined)) return;
  MemoryShadow& shared = shared_[to.block->rank()];
  std::ranges::copy(undefined, shared.bits(to.offset, bytes).begin());
  shared.set_member(to.offset, bytes, 1);
  const auto first = static_cast<std::size_t>(
      std::ranges::find_if(undefined, [](std::byte bits) { return bits != std::byte{}; }) -
      undefined.begin());
  shared.set_origin(to.offset, bytes, unwritten_global(*actor.op, from + first));
}

void Undefined::copy_out(const Actor& actor, const SharedPlace& from, std::uint32_t bytes) {
  MemoryShadow& shadow = shared_[from.block->rank()];
  const std::span undefined = shadow.bits(from.offset, bytes);
  std::uint32_t i = 0;
  const auto is_copied = [&] {
    return undefined[i] == std::byte{} ||
           shadow.is_padding(from.offset + i, from.offset, from.offset + std::size_t{bytes});
  };
  while (i < bytes && is_copied()) ++i;
  if (i == bytes) return;
  const std::uint32_t byte = from.offset + i;
  const Origin origin = shadow.origin(byte);
  const bool is_stored = origin < Origins::kUnwritten;
  // Without an origin it loads them itself.
  report(actor,
         {.code = "undefined-value",
          .other_warp = actor.warp,
          .other_op = is_stored ? &cluster_->grid().code().operations[origins_.at(origin).op] : actor.op,
          .address = fmt::format("shared + {:#x}", byte)},
         kWriteFirst, [&] {
           return fmt::format(
               "it copies byte {:#x} of shared memory to global memory, of which bits {:#x} are "
               "uninitialised, or computed from uninitialised bits{}",
               byte, std::to_integer<unsigned>(undefined[i]), is_stored ? describe(*actor.warp, origin) : "");
         });
}

}  // namespace ptxloom::exec
