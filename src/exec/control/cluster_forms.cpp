// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>

#include "exec/control/barrier.hpp"
#include "exec/control/cluster_barrier.hpp"
#include "exec/machine/cluster.hpp"
#include "exec/machine/decoder.hpp"
#include "exec/machine/fault.hpp"
#include "exec/memory/address.hpp"
#include "exec/memory/element.hpp"

// The thread blocks of a cluster: addresses in each other's shared memory (mapa, getctarank, PTX ISA 9.7.9.23
// and 9.7.9.24) and their barrier (9.7.13.3).
namespace ptxloom::exec {
namespace {

struct AddressPlan {
  bool generic = false;   // addresses are generic
  bool variable = false;  // the operand is a variable: its address in .shared
};

// The .shared::cluster address that operand 1 of a lane denotes.
std::uint64_t shared_address(Warp& warp, const Operation& op, int lane) {
  const auto& plan = op.plan_as<AddressPlan>();
  const std::uint64_t address = read_element(warp.registers(), op.slots[1], lane);
  if (!plan.generic || plan.variable) return address;
  if (space_of(address) != StateSpace::shared) {
    fault(warp, op, lane_bit(lane), "not-shared",
          "the generic address " + describe_address(address) + " is outside shared memory",
          "use an address of shared memory (cvta.shared)");
  }
  return address - window(StateSpace::shared);
}

void run_map(Warp& warp, const Operation& op, Mask mask) {
  const std::size_t blocks = warp.block().cluster().blocks().size();
  const std::uint64_t first = op.plan_as<AddressPlan>().generic ? window(StateSpace::shared) : 0;
  for_lanes(mask, [&](int lane) {
    const std::uint64_t rank = read_element(warp.registers(), op.slots[2], lane) & 0xffff'ffff;
    if (rank >= blocks) {
      fault(warp, op, lane_bit(lane), "cluster-rank",
            fmt::format("the cluster has {} thread blocks, none with rank {}", blocks, rank),
            "check the rank, and the cluster size of the launch");
    }
    const std::uint64_t address = shared_address(warp, op, lane);
    write_element(warp.registers(), op.slots[0], lane,
                  first + shared_base(static_cast<std::uint32_t>(rank)) + shared_offset(address));
  });
}

void run_rank(Warp& warp, const Operation& op, Mask mask) {
  for_lanes(mask, [&](int lane) {
    write_element(warp.registers(), op.slots[0], lane, shared_rank(shared_address(warp, op, lane)));
  });
}

template <Semantic run, bool variable>
void decode_address(Decoder& decoder) {
  Operation op = decoder.operation(run);
  op.plan =
      std::make_shared<AddressPlan>(AddressPlan{.generic = !decoder.has("space"), .variable = variable});
  decoder.emit(std::move(op));
}

template <bool aligned, bool relaxed>
void run_arrive(Warp& warp, const Operation& op, Mask mask) {
  if (aligned && !warp.whole(op, mask)) return;
  warp.block().cluster().state<ClusterBarrier>().arrive(warp, op, mask, relaxed);
}

void decode_arrive(Decoder& decoder) {
  const bool relaxed = decoder.word("sem") == "relaxed";
  if (decoder.has("aligned"))
    return decoder.emit(decoder.operation(relaxed ? &run_arrive<true, true> : &run_arrive<true, false>));
  decoder.emit(decoder.operation(relaxed ? &run_arrive<false, true> : &run_arrive<false, false>));
}

void decode_wait(Decoder& decoder) {
  decoder.emit(decoder.operation(decoder.has("aligned") ? [](Warp& warp, const Operation& op, Mask mask) {
    if (!warp.whole(op, mask)) return;
    warp.block().cluster().state<ClusterBarrier>().wait(warp, op, mask);
  } : [](Warp& warp, const Operation& op, Mask mask) {
    warp.block().cluster().state<ClusterBarrier>().wait(warp, op, mask);
  }));
}

constexpr std::array kForms{
    Semantics{"mapa", decode_address<&run_map, false>, {FlowRule::smear}},
    Semantics{"mapa.variable", decode_address<&run_map, true>, {FlowRule::smear}},
    Semantics{"getctarank", decode_address<&run_rank, false>, {FlowRule::smear}},
    Semantics{"getctarank.variable", decode_address<&run_rank, true>, {FlowRule::smear}},
    Semantics{"barrier.cluster.arrive", decode_arrive, {.rule = FlowRule::none, .synchronises = true}},
    Semantics{"barrier.cluster.wait", decode_wait, {.rule = FlowRule::none, .synchronises = true}},
};

}  // namespace

std::span<const Semantics> cluster_semantics() { return kForms; }

}  // namespace ptxloom::exec
