// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <vector>

#include "exec/judge/judge.hpp"
#include "exec/machine/decoder.hpp"
#include "exec/machine/members.hpp"
#include "exec/matrix/fragment.hpp"
#include "exec/matrix/undefined_elements.hpp"
#include "exec/memory/address.hpp"
#include "ptxloom/layout.hpp"
#include "ptxloom/numeric.hpp"

// ldmatrix, stmatrix and movmatrix (PTX ISA 9.7.14.5.15 to 9.7.14.5.17): some lanes give the address of a row
// in shared memory, all lanes read or write elements. Both maps are in the specs.
namespace ptxloom::exec {
namespace {

constexpr std::uint32_t kRowBytes = 16;  // for narrower elements too: padding follows them

using Elements = std::vector<std::uint32_t>;

struct MatrixPlan {
  Fragment fragment;
  std::vector<LayoutAddress> rows;
  std::size_t value = 0, address = 1;  // operand indices
  StateSpace space = StateSpace::generic;
};

// The host address of each row, by matrix and row. Without a state space the address may be a generic one; an
// H200 takes one of shared memory, too.
std::vector<std::byte*> resolve_rows(Warp& warp, const Operation& op, const MatrixPlan& plan, Access access) {
  Reach reach{.space = StateSpace::shared, .access = access, .bytes = kRowBytes, .alignment = kRowBytes};
  std::vector<std::byte*> rows(plan.rows.size());
  for (const LayoutAddress& row : plan.rows) {
    const std::uint64_t address = address_of(warp, op.slot(plan.address), row.lane);
    const bool generic = plan.space == StateSpace::generic && space_of(address) == StateSpace::shared;
    reach.space = generic ? StateSpace::generic : StateSpace::shared;
    rows[static_cast<std::size_t>(row.matrix * plan.fragment.rows() + row.row)] =
        generic ? resolve_shared(warp, op, row.lane, address, reach).data
                : resolve(warp, op, row.lane, address, reach);
  }
  return rows;
}

// Calls f(row, column, element) for each element, by matrix, row and column.
template <class F>
void for_elements(const MatrixPlan& plan, const std::vector<std::byte*>& rows, F f) {
  const auto columns = static_cast<std::size_t>(plan.fragment.cols());
  for (std::size_t i = 0; i < plan.fragment.positions().size(); ++i) {
    f(std::span(rows[i / columns], kRowBytes), i % columns, i);
  }
}

Elements load_elements(const MatrixPlan& plan, const std::vector<std::byte*>& rows) {
  Elements elements(plan.fragment.positions().size());
  for_elements(plan, rows, [&](std::span<const std::byte> row, std::size_t column, std::size_t i) {
    elements[i] = static_cast<std::uint32_t>(load_element(plan.fragment.type(), row, column));
  });
  return elements;
}

void store_elements(const MatrixPlan& plan, const std::vector<std::byte*>& rows, const Elements& elements) {
  for_elements(plan, rows, [&](std::span<std::byte> row, std::size_t column, std::size_t i) {
    store_element(plan.fragment.type(), row, column, elements[i]);
  });
}

void run_load(Warp& warp, const Operation& op, Mask mask) {
  require_full_warp(warp, op, mask);
  const auto& plan = op.plan_as<MatrixPlan>();
  const auto registers = std::span(op.slots).subspan(op.first[plan.value]);
  const auto rows = resolve_rows(warp, op, plan, Access::read);
  plan.fragment.scatter<std::uint32_t>(warp.registers(), registers, load_elements(plan, rows));
  Judge* const judge = warp.judge();
  if (judge == nullptr) return;
  judge->finish_reads(warp);
  Warp* const warps[] = {&warp};
  const UndefinedElements undefined(*judge, warps);
  if (const auto bits = undefined_lines(*judge, rows, kRowBytes)) {
    undefined.scatter<std::uint32_t>(plan.fragment, registers, load_elements(plan, bits->lines));
    judge->loads_undefined(warp, op, registers.first(plan.fragment.registers()), bits->global);
  } else {
    undefined.define(registers.first(plan.fragment.registers()));
  }
}

void run_store(Warp& warp, const Operation& op, Mask mask) {
  require_full_warp(warp, op, mask);
  const auto& plan = op.plan_as<MatrixPlan>();
  const auto registers = std::span(op.slots).subspan(op.first[plan.value]);
  const auto rows = resolve_rows(warp, op, plan, Access::write);
  Elements elements;
  plan.fragment.gather(warp.registers(), registers, elements);
  store_elements(plan, rows, elements);
  Judge* const judge = warp.judge();
  if (judge == nullptr) return;
  Warp* const warps[] = {&warp};
  const UndefinedElements undefined(*judge, warps);
  if (!undefined.any(registers.first(plan.fragment.registers()))) return;
  std::vector<std::byte*> bits;
  for (const std::byte* row : rows) bits.push_back(judge->undefined_bits(row));
  store_elements(plan, bits, undefined.gather<std::uint32_t>(plan.fragment, registers));
}

void emit(Decoder& decoder, Semantic run) {
  const auto plan = decoder.plan_of_variant<MatrixPlan>([&] {
    auto made = std::make_shared<MatrixPlan>();
    made->fragment = Fragment(decoder, "D");
    const Layout layout = ptxloom::layout(decoder.variant(), "D");
    made->rows.assign(layout.addresses().begin(), layout.addresses().end());
    made->value = static_cast<std::size_t>(decoder.operand("D"));
    made->address = static_cast<std::size_t>(decoder.operand("P"));
    made->space = find_space(decoder.word("space")).value_or(StateSpace::generic);
    return made;
  });
  if (plan->rows.size() != static_cast<std::size_t>(plan->fragment.matrices() * plan->fragment.rows())) {
    decoder.unsupported("the specs do not say which lane gives the address of which row");
  }
  decoder.emit(run, plan);
}

void decode_load(Decoder& decoder) { emit(decoder, &run_load); }
void decode_store(Decoder& decoder) { emit(decoder, &run_store); }

struct MovePlan {
  Fragment to, from;
};

void run_move(Warp& warp, const Operation& op, Mask mask) {
  require_full_warp(warp, op, mask);
  const auto& plan = op.plan_as<MovePlan>();
  const auto from = std::span(op.slots).subspan(op.first[1]);
  Elements elements;
  plan.from.gather(warp.registers(), from, elements);
  plan.to.scatter<std::uint32_t>(warp.registers(), op.slots, elements);
  if (Judge* judge = warp.judge()) {
    Warp* const warps[] = {&warp};
    const UndefinedElements undefined(*judge, warps);
    undefined.scatter<std::uint32_t>(plan.to, op.slots, undefined.gather<std::uint32_t>(plan.from, from));
  }
}

// movmatrix: the same elements in another map.
void decode_move(Decoder& decoder) {
  decoder.emit(&run_move, decoder.plan_of_variant<MovePlan>([&] {
    return std::make_shared<MovePlan>(MovePlan{.to = Fragment(decoder, "D"), .from = Fragment(decoder, "A")});
  }));
}

constexpr std::array kForms{
    Semantics{"movmatrix", decode_move, {FlowRule::matrix}},
    Semantics{"ldmatrix", decode_load, {FlowRule::matrix}},
    Semantics{"stmatrix", decode_store, {FlowRule::matrix}},
};

}  // namespace

std::span<const Semantics> matrix_semantics() { return kForms; }

}  // namespace ptxloom::exec
