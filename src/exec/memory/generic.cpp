// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <memory>

#include "exec/machine/block.hpp"
#include "exec/machine/decoder.hpp"
#include "exec/machine/lanewise.hpp"
#include "exec/memory/address.hpp"

// Generic addresses (PTX ISA 9.7.9.19 and 9.7.9.20): converted from and to those of a space, and tested for
// their space.
namespace ptxloom::exec {
namespace {

StateSpace space_of_word(const Decoder& decoder) {
  const auto space = find_space(decoder.word("space"));
  if (!space) decoder.unsupported("the executor does not support this state space");
  return *space;
}

// cvta adds the window of the space, cvta.to subtracts it; global addresses are generic addresses.
void run_cvta(Warp& warp, const Operation& op, Mask mask) {
  const std::uint64_t offset = op.plan_as<std::uint64_t>();
  const Lanes<std::uint64_t> out(warp.registers(), op.slots[0]), in(warp.registers(), op.slots[1]);
  for_lanes(mask, [&](int lane) { out.set(lane, in[lane] + offset); });
}

void decode_cvta(Decoder& decoder) {
  const std::uint64_t offset = window(space_of_word(decoder));
  decoder.emit(&run_cvta, std::make_shared<std::uint64_t>(decoder.has("to") ? 0 - offset : offset));
}

// For isspacep, kernel parameters are in global memory too.
bool is_in(const Warp& warp, StateSpace space, std::uint64_t address) {
  const StateSpace found = space_of(address);
  switch (space) {
    case StateSpace::global:
      return found == StateSpace::global || found == StateSpace::param;
    case StateSpace::shared:
      return found == StateSpace::shared && shared_rank(address) == warp.block().rank();
    case StateSpace::cluster:
      return found == StateSpace::shared && shared_rank(address) < warp.block().grid().cluster_blocks();
    default:
      return found == space;
  }
}

void run_isspacep(Warp& warp, const Operation& op, Mask mask) {
  const auto space = op.plan_as<StateSpace>();
  const Lanes<std::uint64_t> addresses(warp.registers(), op.slots[1]);
  Mask yes = 0;
  for_lanes(mask, [&](int lane) { yes |= Mask{is_in(warp, space, addresses[lane])} << lane; });
  Lanes<bool>(warp.registers(), op.slots[0]).set(mask, yes);
}

// ptxas allows a 32-bit address here; as a generic address it is in global memory.
void decode_isspacep(Decoder& decoder) {
  const StateSpace space = space_of_word(decoder);
  if (decoder.word("type") == "u64") return decoder.emit(&run_isspacep, std::make_shared<StateSpace>(space));
  decoder.emit(space == StateSpace::global ? lanewise<std::uint32_t>([](std::uint32_t) { return true; })
                                           : lanewise<std::uint32_t>([](std::uint32_t) { return false; }));
}

// No address is that of a texture, sampler or surface, because there are none here.
void decode_istypep(Decoder& decoder) {
  decoder.emit(lanewise<std::uint64_t>([](std::uint64_t) { return false; }));
}

constexpr std::array kForms{
    Semantics{"cvta", decode_cvta, {FlowRule::smear}},
    Semantics{"cvta.variable", decode_cvta, {FlowRule::smear}},
    Semantics{"isspacep", decode_isspacep, {FlowRule::smear}},
    Semantics{"istypep", decode_istypep, {FlowRule::smear}},
};

}  // namespace

std::span<const Semantics> generic_semantics() { return kForms; }

}  // namespace ptxloom::exec
