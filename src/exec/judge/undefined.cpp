// SPDX-License-Identifier: Apache-2.0
#include "exec/judge/undefined.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "exec/machine/cluster.hpp"
#include "ir/naming.hpp"

namespace ptxloom::exec {
namespace {

constexpr std::uint64_t kAll = ~std::uint64_t{0};
constexpr const char* kStores = "it stores";
constexpr const char* kDefine = "initialise registers and shared memory on every path to their use";

bool any_of(std::span<const std::byte> undefined) {
  return std::ranges::any_of(undefined, [](std::byte bits) { return bits != std::byte{}; });
}

std::uint64_t undefined_of(const RegisterShadow& shadow, const FlowPiece& piece, int lane) {
  return shadow.undefined(piece.slot, lane) & low_bits(piece.bits);
}

// The bits of all pieces side by side, of which output `number` receives some.
std::uint64_t packed(const RegisterShadow& shadow, const DataFlow& flow, std::size_t number, int lane) {
  std::array<std::uint64_t, 2> all{};
  std::size_t at = 0;
  for (const FlowPiece& piece : flow.in) {
    if (at < 128) all[at / 64] |= undefined_of(shadow, piece, lane) << at % 64;
    at += piece.bits;
  }
  at = 0;
  for (std::size_t i = 0; i < number; ++i) at += flow.out[i].bits;
  return at < 128 ? all[at / 64] >> at % 64 & low_bits(flow.out[number].bits) : 0;
}

}  // namespace

void Undefined::start() {
  const auto& blocks = cluster_->blocks();
  const Grid& grid = cluster_->grid();
  registers_.resize(blocks.size() * blocks.front().warps().size());
  for (RegisterShadow& shadow : registers_) shadow.reset(grid.code());
  shared_.assign(blocks.size(), std::vector<std::byte>(grid.shared_bytes(), std::byte{0xff}));
  flow_ = nullptr;
}

RegisterShadow& Undefined::registers_of(const Warp& warp) {
  return registers_[warp.block().rank() * warp.block().warps().size() + warp.index()];
}

std::byte* Undefined::bits_of(const SharedPlace& place) {
  return shared_[place.block->rank()].data() + place.offset;
}

void Undefined::check(Warp& warp, const Operation& op, Mask lanes, const FlowPiece& piece, const char* what) {
  const RegisterShadow& shadow = registers_of(warp);
  if (shadow.is_defined(piece.slot)) return;
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    const std::uint64_t bits = undefined_of(shadow, piece, lane);
    if (bits == 0) continue;
    fault(warp, op, lane_bit(lane), "undefined-value",
          fmt::format("{} {}, of which bits {:#x} are uninitialised, or computed from uninitialised bits",
                      what, piece.reg == nullptr ? "a value" : ir::name_of(*piece.reg), bits),
          kDefine);
  }
}

// Arguments and results of functions count as defined.
void Undefined::call(Warp& warp, const Operation& op, Mask lanes) {
  const Code& code = cluster_->grid().code();
  RegisterShadow& shadow = registers_of(warp);
  for (const Callee& callee : code.callees) {
    for (const auto* places : {&callee.parameters, &callee.results}) {
      for (const Location& place : *places)
        if (!place.in_memory) shadow.define(place.slot, lanes, warp.flow().live());
    }
  }
  const ir::Function& function = code.function_of(op);
  for (const ir::Operand& result : function.results_of(function.calls[op.instruction])) {
    if (result.kind == ir::Operand::Kind::reg)
      shadow.define(code.register_slots[op.function][result.index], lanes, warp.flow().live());
  }
}

void Undefined::executes(Warp& warp, const Operation& op, const DataFlow& flow, Mask group, Mask lanes) {
  if (op.is_call) return call(warp, op, lanes);
  if (!op.begins) return;
  if (op.guarded) check(warp, op, group, {.slot = op.guard, .bits = 1}, "it is guarded by");
  if (lanes == 0) return;
  flow_ = &flow;
  undefined_in_ = false;
  const bool is_matrix = flow.rule == FlowRule::matrix;
  const char* depends = is_matrix ? "it depends on" : "its address depends on";
  for (const FlowPiece& piece : flow.addresses) check(warp, op, lanes, piece, depends);
  if (flow.rule == FlowRule::decides)
    for (const FlowPiece& piece : flow.in) check(warp, op, lanes, piece, "it depends on");
  if (!is_matrix) carry(warp, flow, lanes);
}

void Undefined::carry(Warp& warp, const DataFlow& flow, Mask lanes) {
  RegisterShadow& shadow = registers_of(warp);
  const auto is_defined = [&](const FlowPiece& piece) { return shadow.is_defined(piece.slot); };
  undefined_in_ = !std::ranges::all_of(flow.in, is_defined);
  const bool carries = undefined_in_ && flow.rule < FlowRule::loaded;
  std::array<std::array<std::uint64_t, kLanes>, 8> results;
  for (std::size_t i = 0; carries && i < std::min(flow.out.size(), results.size()); ++i)
    for_lanes(lanes,
              [&](int lane) { results[i][static_cast<std::size_t>(lane)] = result(warp, flow, i, lane); });
  if (carries && flow.rule == FlowRule::collective) {
    for (auto& each : results) {
      std::uint64_t any = 0;
      for_lanes(lanes, [&](int lane) { any |= each[static_cast<std::size_t>(lane)]; });
      each.fill(any);
    }
  }
  for (std::size_t i = 0; i < flow.out.size(); ++i) {
    if (flow.out[i].reg == nullptr || (i == 0 && flow.rule == FlowRule::elsewhere)) continue;
    if (!carries || i >= results.size()) {
      shadow.define(flow.out[i].slot, lanes, warp.flow().live());
      continue;
    }
    for_lanes(lanes, [&](int lane) {
      shadow.set(flow.out[i].slot, lane, results[i][static_cast<std::size_t>(lane)]);
    });
  }
}

std::uint64_t Undefined::result(Warp& warp, const DataFlow& flow, std::size_t out, int lane) {
  const RegisterShadow& shadow = registers_of(warp);
  if (flow.rule == FlowRule::pack) return packed(shadow, flow, out, lane);
  if (flow.rule == FlowRule::computed) {
    std::array<FlowOperand, 8> in;
    for (std::size_t i = 0; i < flow.in.size(); ++i) {
      const FlowPiece& piece = flow.in[i];
      in.at(i) = {piece.reg, undefined_of(shadow, piece, lane), value_of(warp, piece, lane), piece.bits};
    }
    return flow.function(std::span(in).first(flow.in.size()), out);
  }
  const auto any = [&](const FlowPiece& piece) { return undefined_of(shadow, piece, lane) != 0; };
  return std::ranges::any_of(flow.in, any) ? kAll : 0;
}

void Undefined::read(const Actor& actor, const SharedPlace& place, std::uint32_t bytes) {
  if (flow_ == nullptr || flow_->rule != FlowRule::loaded) return;
  const std::byte* undefined = bits_of(place);
  if (!any_of(std::span(undefined, bytes))) return;
  RegisterShadow& shadow = registers_of(*actor.warp);
  const std::uint32_t size = flow_->element_bytes;
  for (std::size_t i = 0; i < flow_->out.size() && (i + 1) * size <= bytes; ++i) {
    if (flow_->out[i].reg == nullptr) continue;
    std::uint64_t bits = 0;
    std::memcpy(&bits, undefined + i * size, size);
    shadow.set(flow_->out[i].slot, actor.lane, bits);
  }
}

std::byte Undefined::stored_bits(const Actor& actor, std::uint32_t byte) {
  const std::size_t element = byte / flow_->element_bytes;
  if (element >= flow_->in.size()) return {};
  const FlowPiece& piece = flow_->in[element];
  const std::uint64_t bits = undefined_of(registers_of(*actor.warp), piece, actor.lane);
  return static_cast<std::byte>(bits >> 8 * (byte % flow_->element_bytes) & 0xff);
}

void Undefined::write(const Actor& actor, const SharedPlace& place, std::uint32_t bytes) {
  const std::span undefined(bits_of(place), bytes);
  if (flow_ != nullptr && flow_->rule == FlowRule::update) return update(actor, undefined);
  const bool exact = flow_ != nullptr && flow_->exact && undefined_in_;
  for (std::uint32_t i = 0; i < bytes; ++i) undefined[i] = exact ? stored_bits(actor, i) : std::byte{};
}

// An atomic operation returns what was in memory; exch leaves its operand there.
void Undefined::update(const Actor& actor, std::span<std::byte> undefined) {
  RegisterShadow& shadow = registers_of(*actor.warp);
  const bool was = any_of(undefined);
  const bool given = undefined_in_ && std::ranges::any_of(flow_->in, [&](const FlowPiece& piece) {
                       return undefined_of(shadow, piece, actor.lane) != 0;
                     });
  std::ranges::fill(undefined, given || (was && !flow_->exchanges) ? std::byte{0xff} : std::byte{});
  for (const FlowPiece& piece : flow_->out)
    if (was && piece.reg != nullptr) shadow.set(piece.slot, actor.lane, kAll);
}

void Undefined::write_global(const Actor& actor) {
  if (flow_ == nullptr || !flow_->stores || !undefined_in_) return;
  for (const FlowPiece& piece : flow_->in) {
    FlowPiece stored = piece;
    if (flow_->exact)
      stored.bits =
          static_cast<std::uint8_t>(std::min<int>(piece.bits, 8 * static_cast<int>(flow_->element_bytes)));
    check(*actor.warp, *actor.op, lane_bit(actor.lane), stored, kStores);
  }
}

void Undefined::stores(Warp& warp, const Operation& op, Mask lanes) {
  for (const FlowPiece& piece : flow_->in) check(warp, op, lanes, piece, kStores);
}

void Undefined::define(const SharedPlace& place, std::uint32_t bytes) {
  std::fill_n(bits_of(place), bytes, std::byte{});
}

void Undefined::copy(const SharedPlace& to, const SharedPlace& from, std::uint32_t bytes) {
  std::memmove(bits_of(to), bits_of(from), bytes);
}

void Undefined::copy_out(const Actor& actor, const SharedPlace& from, std::uint32_t bytes) {
  const std::span undefined(bits_of(from), bytes);
  const auto first = std::ranges::find_if(undefined, [](std::byte bits) { return bits != std::byte{}; });
  if (first == undefined.end()) return;
  fault(actor, "undefined-value",
        fmt::format("it copies byte {:#x} of shared memory to global memory, of which bits {:#x} are "
                    "uninitialised, or computed from uninitialised bits",
                    from.offset + static_cast<std::uint32_t>(first - undefined.begin()),
                    std::to_integer<unsigned>(*first)),
        kDefine);
}

void Undefined::shuffle(const Warp& warp, Mask lanes, const Slot& to, const Slot& from,
                        const std::array<int, kLanes>& sources) {
  RegisterShadow& shadow = registers_of(warp);
  if (shadow.is_defined(from)) return shadow.define(to, lanes, warp.flow().live());
  std::array<std::uint64_t, kLanes> bits{};
  for_lanes(lanes, [&](int lane) {
    const int source = sources[static_cast<std::size_t>(lane)];
    const bool takes_part = (lanes >> source & 1) != 0;
    bits[static_cast<std::size_t>(lane)] = takes_part ? shadow.undefined(from, source) : kAll;
  });
  for_lanes(lanes, [&](int lane) { shadow.set(to, lane, bits[static_cast<std::size_t>(lane)]); });
}

}  // namespace ptxloom::exec
