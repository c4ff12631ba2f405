// SPDX-License-Identifier: Apache-2.0
#include "exec/judge/undefined.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "exec/machine/call.hpp"
#include "exec/machine/cluster.hpp"
#include "ir/naming.hpp"

namespace ptxloom::exec {
namespace {

constexpr std::uint64_t kAll = ~std::uint64_t{0};
constexpr const char* kDefine = "initialise registers and memory on every path to their use";

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
  found_ = false;
  const auto& blocks = cluster_->blocks();
  const Grid& grid = cluster_->grid();
  registers_.resize(blocks.size() * blocks.front().warps().size());
  for (RegisterShadow& shadow : registers_) shadow.reset(grid.code());
  shared_.resize(blocks.size());
  for (MemoryShadow& shadow : shared_) {
    shadow.reset(grid.shared_bytes());
    const auto reserved = grid.reserved_shared();
    shadow.define(reserved.begin, reserved.end - reserved.begin);
  }
  local_.resize(registers_.size());
  for (MemoryShadow& shadow : local_) shadow.reset(grid.code().local_bytes * std::size_t{kLanes});
  if (origins_set_ || register_origins_.empty()) {  // most kernels set none
    register_origins_.assign(registers_.size(),
                             std::vector<Origin>(grid.code().registers.size() / 8 + 1, Origins::kRegister));
    origins_set_ = false;
  }
  flow_ = nullptr;
}

Undefined::Origin Undefined::origin_of(const Warp& warp, const Slot& slot) const {
  return register_origins_[warp.block().rank() * warp.block().warps().size() + warp.index()][slot.offset / 8];
}

void Undefined::set_origin(const Warp& warp, const Slot& slot, Origin origin) {
  origins_set_ = true;
  register_origins_[warp.block().rank() * warp.block().warps().size() + warp.index()][slot.offset / 8] =
      origin;
}

Undefined::Origin Undefined::origin_of_inputs(const Warp& warp, const DataFlow& flow) {
  const RegisterShadow& shadow = registers_of(warp);
  for (const FlowPiece& piece : flow.in)
    if (!shadow.is_defined(piece.slot)) return origin_of(warp, piece.slot);
  return Origins::kRegister;
}

std::string Undefined::describe(const Warp& warp, Origin origin) const {
  if (origin == Origins::kRegister) return {};
  const Origins::Origin& known = origins_.at(origin);
  return fmt::format("; {} {}", describe_with_line(warp, cluster_->grid().code().operations[known.op]),
                     known.does);
}

RegisterShadow& Undefined::registers_of(const Warp& warp) {
  return registers_[warp.block().rank() * warp.block().warps().size() + warp.index()];
}

std::byte* Undefined::bits_of(const SharedPlace& place) {
  return shared_[place.block->rank()].bits(place.offset, 1).data();
}

MemoryShadow& Undefined::local_of(const Warp& warp) {
  return local_[warp.block().rank() * warp.block().warps().size() + warp.index()];
}

std::size_t Undefined::local_offset(int lane, std::uint64_t offset) const {
  return cluster_->grid().code().local_bytes * static_cast<std::size_t>(lane) + offset;
}

Mask Undefined::check(Warp& warp, const Operation& op, Mask lanes, const FlowPiece& piece, const char* what,
                      bool goes_on) {
  RegisterShadow& shadow = registers_of(warp);
  Mask found = 0;
  if (shadow.is_defined(piece.slot)) return found;
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    const std::uint64_t bits = undefined_of(shadow, piece, lane);
    if (bits == 0) continue;
    const Origin origin = origin_of(warp, piece.slot);
    const auto text = [&] {
      return fmt::format(
          "{} {}, of which bits {:#x} are uninitialised, or computed from uninitialised bits{}", what,
          piece.reg == nullptr ? "a value" : ir::name_of(*piece.reg), bits, describe(warp, origin));
    };
    found_ = true;
    Misuse misuse{.code = "undefined-value"};
    if (origin != Origins::kRegister) {
      misuse.other_warp = &warp;
      misuse.other_op = &cluster_->grid().code().operations[origins_.at(origin).op];
    }
    if (!goes_on) fault(Actor{&warp, &op, lane}, misuse, text(), kDefine);
    report({&warp, &op, lane}, misuse, kDefine, text);
    shadow.set(piece.slot, lane, 0);
    found |= lane_bit(lane);
  }
  return found;
}

// A load or store leaves out the lanes; what decides anything else has to stop.
Mask Undefined::check_addresses(Warp& warp, const Operation& op, const DataFlow& flow, Mask lanes) {
  const bool accesses = flow.rule == FlowRule::loaded || flow.rule == FlowRule::update || flow.stores;
  const bool is_address = flow.rule != FlowRule::matrix && flow.rule != FlowRule::collective &&
                          flow.rule != FlowRule::elsewhere && flow.rule != FlowRule::decides;
  const char* depends = is_address ? "its address depends on" : "it depends on";
  Mask found = 0;
  for (const FlowPiece& piece : flow.addresses) found |= check(warp, op, lanes, piece, depends, accesses);
  return found;
}

// What a load at an undefined address leaves undefined has the origin of that address.
void Undefined::carry_address_origin(const Warp& warp, const DataFlow& flow) {
  const auto has_origin = [&](const FlowPiece& piece) {
    return piece.reg != nullptr && origin_of(warp, piece.slot) != Origins::kRegister;
  };
  const auto address = std::ranges::find_if(flow.addresses, has_origin);
  if (address == flow.addresses.end()) return;
  const Origin origin = origin_of(warp, address->slot);
  const RegisterShadow& shadow = registers_of(warp);
  for (const FlowPiece& piece : flow.out)
    if (piece.reg != nullptr && !shadow.is_defined(piece.slot)) set_origin(warp, piece.slot, origin);
}

// Which elements of a matrix are undefined its instruction knows (matrix/undefined_elements.hpp); where they
// come from is known by register.
void Undefined::carry_matrix_origin(const Warp& warp, const DataFlow& flow) {
  const Origin origin = origin_of_inputs(warp, flow);
  if (origin == Origins::kRegister && !origins_set_) return;
  for (const FlowPiece& piece : flow.out)
    if (piece.reg != nullptr) set_origin(warp, piece.slot, origin);
}

void Undefined::check_call(Warp& warp, const Operation& op, Mask lanes) {
  if (op.run != &run_call) return;
  const auto& address = op.plan_as<CallPlan>().address;
  if (address) check(warp, op, lanes, {.slot = *address, .bits = 64}, "the address that it calls is", false);
}

Mask Undefined::executes(Warp& warp, const Operation& op, const DataFlow& flow, Mask group, Mask lanes) {
  if (op.is_call) flow_ = nullptr;  // calls move values with their undefined bits (machine/location.hpp)
  if (!op.begins && !op.is_call) return lanes;
  if (op.guarded) check(warp, op, group, {.slot = op.guard, .bits = 1}, "it is guarded by", true);
  if (op.is_call) check_call(warp, op, lanes);
  if (lanes == 0 || op.is_call) return lanes;
  flow_ = &flow;
  undefined_in_ = false;
  const bool is_matrix = flow.rule == FlowRule::matrix;
  const Mask left_out = check_addresses(warp, op, flow, lanes);
  if (left_out != 0) carry_address_origin(warp, flow);
  if (is_matrix) carry_matrix_origin(warp, flow);
  lanes &= ~left_out;
  if (flow.rule == FlowRule::decides)
    for (const FlowPiece& piece : flow.in) check(warp, op, lanes, piece, "it depends on", false);
  if (!is_matrix) carry(warp, flow, lanes);
  return lanes;
}

void Undefined::carry(Warp& warp, const DataFlow& flow, Mask lanes) {
  RegisterShadow& shadow = registers_of(warp);
  const auto is_defined = [&](const FlowPiece& piece) { return shadow.is_defined(piece.slot); };
  undefined_in_ = !std::ranges::all_of(flow.in, is_defined);
  const bool carries = undefined_in_ && flow.rule < FlowRule::loaded;
  const Origin origin = carries ? origin_of_inputs(warp, flow) : Origins::kRegister;
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
    set_origin(warp, flow.out[i].slot, origin);
    if (flow.rule == FlowRule::pack)
      for_lanes(moves_padding(warp, flow, lanes),
                [&](int lane) { shadow.set_padding(flow.out[i].slot, lane); });
  }
}

// The lanes in which every undefined bit that is read is padding.
Mask Undefined::moves_padding(const Warp& warp, const DataFlow& flow, Mask lanes) {
  const RegisterShadow& shadow = registers_of(warp);
  for (const FlowPiece& piece : flow.in) {
    if (shadow.is_defined(piece.slot)) continue;
    for_lanes(lanes & ~shadow.padding(piece.slot), [&](int lane) {
      if (undefined_of(shadow, piece, lane) != 0) lanes &= ~lane_bit(lane);
    });
  }
  return lanes;
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

// What a store leaves out of a register does not matter.
void Undefined::stores(Warp& warp, const Operation& op, Mask lanes) {
  for (const FlowPiece& piece : flow_->in) {
    FlowPiece stored = piece;
    if (flow_->exact)
      stored.bits =
          static_cast<std::uint8_t>(std::min<int>(piece.bits, 8 * static_cast<int>(flow_->element_bytes)));
    const Mask padding = flow_->exact ? registers_of(warp).padding(piece.slot) : 0;
    check(warp, op, lanes & ~padding, stored, "it stores", true);
  }
}

void Undefined::loads(const Warp& warp, const Operation& op, std::span<const Slot> registers,
                      const std::byte* global) {
  const Origin own = global == nullptr ? unwritten_shared(op) : unwritten_global(op, global);
  for (const Slot& slot : registers) set_origin(warp, slot, own);
}

}  // namespace ptxloom::exec
