// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <bit>

#include "exec/async/transfer.hpp"
#include "exec/machine/cluster.hpp"
#include "exec/machine/decoder.hpp"
#include "exec/machine/fault.hpp"
#include "exec/memory/address.hpp"
#include "exec/memory/element.hpp"

// Bulk copies and reductions, and their groups (PTX ISA 9.7.9.25.4).
namespace ptxloom::exec {
namespace {

// Operand indices; -1 if the variant has none.
struct BulkPlan {
  StateSpace to = StateSpace::global, from = StateSpace::global;
  std::size_t destination = 0, source = 0, size = 0;
  int barrier = -1;
  int mask = -1;  // of thread blocks, or of bytes
  const Reduction* reduction = nullptr;
};

// One lane's copy while it is being issued.
struct Issue {
  Actor actor;
  const BulkPlan& plan;
  std::uint32_t bytes = 0;

  std::uint64_t address(std::size_t operand) const {
    return address_of(*actor.warp, actor.op->slot(operand), actor.lane);
  }
  std::uint32_t mask() const {
    return static_cast<std::uint32_t>(read_element(
        actor.warp->registers(), actor.op->slot(static_cast<std::size_t>(plan.mask)), actor.lane));
  }
  Reach reach(StateSpace space, Access access) const {
    return {.space = space, .access = access, .bytes = bytes, .alignment = 16, .manner = Manner::apart};
  }
  std::byte* source() const {
    return resolve(*actor.warp, *actor.op, actor.lane, address(plan.source), reach(plan.from, Access::read));
  }
  SharedPlace destination(std::uint64_t at) const {
    return resolve_shared(*actor.warp, *actor.op, actor.lane, at, reach(plan.to, Access::write));
  }
  SharedPlace barrier(std::uint64_t at) const {
    const Reach reach{.space = StateSpace::cluster,
                      .access = Access::write,
                      .bytes = 8,
                      .alignment = 8,
                      .manner = Manner::barrier};
    return resolve_shared(*actor.warp, *actor.op, actor.lane, at, reach);
  }
  std::uint64_t barrier_address() const { return address(static_cast<std::size_t>(plan.barrier)); }
};

Issue issue_of(const Actor& actor, const BulkPlan& plan) {
  const std::uint64_t bytes = read_element(actor.warp->registers(), actor.op->slot(plan.size), actor.lane);
  if (bytes % 16 != 0) {
    fault(actor, "copy-size", fmt::format("it copies {} bytes", bytes), "copy a multiple of 16 bytes");
  }
  return {.actor = actor, .plan = plan, .bytes = static_cast<std::uint32_t>(bytes)};
}

template <class F>
void for_issues(Warp& warp, const Operation& op, Mask mask, F f) {
  for (Mask rest = mask; rest != 0; rest &= rest - 1)
    f(issue_of({&warp, &op, std::countr_zero(rest)}, op.plan_as<BulkPlan>()));
}

void require_one_block(const Actor& actor, const SharedPlace& data, const SharedPlace& barrier) {
  if (data.block == barrier.block) return;
  fault(actor, "mbarrier-elsewhere",
        fmt::format("the data goes to thread block {} of the cluster, but the mbarrier is in thread block {}",
                    data.block->rank(), barrier.block->rank()),
        "use a destination and an mbarrier in the same thread block");
}

void issue_to(const Issue& issue, std::uint64_t destination, std::uint64_t barrier) {
  const SharedPlace to = issue.destination(destination), counter = issue.barrier(barrier);
  require_one_block(issue.actor, to, counter);
  Transfer transfer(issue.actor, issue.plan.reduction);
  transfer.add({.to = to.data, .from = issue.source(), .bytes = issue.bytes});
  ptxloom::exec::issue(std::move(transfer), counter, issue.bytes);
}

void run_to_shared(Warp& warp, const Operation& op, Mask mask) {
  for_issues(warp, op, mask, [](const Issue& issue) {
    const std::uint64_t to = issue.address(issue.plan.destination), barrier = issue.barrier_address();
    if (issue.plan.mask < 0) return issue_to(issue, to, barrier);
    for (std::uint32_t ranks = issue.mask() & 0xffff; ranks != 0; ranks &= ranks - 1) {
      const std::uint32_t base = shared_base(static_cast<std::uint32_t>(std::countr_zero(ranks)));
      issue_to(issue, base + shared_offset(to), base + shared_offset(barrier));
    }
  });
}

void run_to_cluster(Warp& warp, const Operation& op, Mask mask) {
  for_issues(warp, op, mask, [](const Issue& issue) {
    const std::uint64_t to = issue.address(issue.plan.destination);
    if (issue.destination(to).block == &issue.actor.warp->block()) {
      fault(issue.actor, "same-block", "the destination is in the thread's own thread block",
            "use mapa: this copy is to another thread block of the cluster");
    }
    issue_to(issue, to, issue.barrier_address());
  });
}

// Of each sixteen bytes, those whose bit is set.
void add_masked(Transfer& transfer, const Transfer::Piece& whole, std::uint32_t mask) {
  for (std::uint32_t i = 0; i < whole.bytes; ++i) {
    if ((mask >> i % 16 & 1) != 0) transfer.add({.to = whole.to + i, .from = whole.from + i, .bytes = 1});
  }
}

void run_to_global(Warp& warp, const Operation& op, Mask mask) {
  for_issues(warp, op, mask, [](const Issue& issue) {
    const Actor& actor = issue.actor;
    std::byte* to = resolve(*actor.warp, *actor.op, actor.lane, issue.address(issue.plan.destination),
                            issue.reach(issue.plan.to, Access::write));
    const Transfer::Piece whole{.to = to, .from = issue.source(), .bytes = issue.bytes};
    Transfer transfer(actor, issue.plan.reduction);
    if (issue.plan.mask < 0) {
      transfer.add(whole);
    } else {
      add_masked(transfer, whole, issue.mask());
    }
    ptxloom::exec::issue(std::move(transfer));
  });
}

// A hint: the address need not even be valid.
void run_prefetch(Warp& warp, const Operation& op, Mask mask) {
  for_issues(warp, op, mask, [](const Issue&) {});
}

BulkPlan plan_of(Decoder& decoder) {
  const auto number = [&](std::string_view name) { return static_cast<std::size_t>(decoder.operand(name)); };
  const auto space = [&](std::string_view name) {
    return find_space(decoder.variant().operand(name).space).value_or(StateSpace::global);
  };
  BulkPlan plan{.from = space("A"), .source = number("A"), .size = number("N")};
  if (decoder.operand("D") >= 0) {
    plan.to = space("D");
    plan.destination = number("D");
  }
  plan.barrier = decoder.operand("M");
  plan.mask = decoder.operand("MASK");
  if (decoder.has("op")) {
    plan.reduction = find_reduction(decoder.word("op"), decoder.word("type"), decoder.has("noftz"));
    if (plan.reduction == nullptr) decoder.emit(nullptr);
    if (plan.to == StateSpace::global) decoder.mark_communicating();
  }
  return plan;
}

template <Semantic run>
void decode_bulk(Decoder& decoder) {
  Operation op = decoder.operation(run);
  op.plan = std::make_shared<BulkPlan>(plan_of(decoder));
  decoder.emit(std::move(op));
}

void decode_commit(Decoder& decoder) {
  decoder.emit([](Warp& warp, const Operation&, Mask mask) { warp.state<BulkCopies>().commit(mask); });
}

void decode_wait(Decoder& decoder) {
  const auto pending = [](Warp& warp, const Operation& op) {
    return Lanes<std::uint32_t>(warp.registers(), op.slots[0])[0];
  };
  if (decoder.word("only").ends_with("read")) {
    return decoder.emit([](Warp& warp, const Operation& op, Mask mask) {
      warp.state<BulkCopies>().for_covered(mask, decltype(pending){}(warp, op),
                                           [](Transfer& copy) { copy.take(); });
    });
  }
  decoder.emit([](Warp& warp, const Operation& op, Mask mask) {
    warp.state<BulkCopies>().wait(mask, decltype(pending){}(warp, op));
  });
}

constexpr std::array kForms{
    Semantics{"cp.async.bulk.global_to_shared", decode_bulk<&run_to_shared>, {FlowRule::decides}},
    Semantics{"cp.async.bulk.shared_to_cluster", decode_bulk<&run_to_cluster>, {FlowRule::decides}},
    Semantics{"cp.async.bulk.shared_to_global", decode_bulk<&run_to_global>, {FlowRule::decides}},
    Semantics{"cp.async.bulk.prefetch", decode_bulk<&run_prefetch>, {FlowRule::decides}},
    Semantics{"cp.reduce.async.bulk.shared_to_cluster", decode_bulk<&run_to_cluster>, {FlowRule::decides}},
    Semantics{"cp.reduce.async.bulk.shared_to_global", decode_bulk<&run_to_global>, {FlowRule::decides}},
    Semantics{"multimem.cp.async.bulk", decode_bulk<&run_to_global>, {FlowRule::decides}},
    Semantics{"multimem.cp.reduce.async.bulk", decode_bulk<&run_to_global>, {FlowRule::decides}},
    Semantics{"cp.async.bulk.commit_group", decode_commit, {.rule = FlowRule::none, .synchronises = true}},
    Semantics{"cp.async.bulk.wait_group", decode_wait, {.rule = FlowRule::none, .synchronises = true}},
};

}  // namespace

std::span<const Semantics> bulk_semantics() { return kForms; }

}  // namespace ptxloom::exec
