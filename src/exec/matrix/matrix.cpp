// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <vector>

#include "exec/judge/judge.hpp"
#include "exec/machine/decoder.hpp"
#include "exec/machine/members.hpp"
#include "exec/matrix/fragment.hpp"
#include "exec/memory/address.hpp"
#include "ptxloom/layout.hpp"
#include "ptxloom/numeric.hpp"

// ldmatrix, stmatrix and movmatrix (PTX ISA 9.7.14.5.15 to 9.7.14.5.17): some lanes give the address of a row
// in shared memory, all lanes get or give elements. Both maps stand in the specs.
namespace ptxloom::exec {
namespace {

constexpr std::uint32_t kRowBytes = 16;  // also of narrower elements: what follows them is padding

struct MatrixPlan {
  Fragment fragment;
  std::vector<LayoutAddress> rows;
  std::size_t value = 0, address = 1;  // operands
};

// The host's bytes of each row, by matrix and row.
std::vector<std::byte*> resolve_rows(Warp& warp, const Operation& op, const MatrixPlan& plan, Access access) {
  const Reach reach{
      .space = StateSpace::shared, .access = access, .bytes = kRowBytes, .alignment = kRowBytes};
  std::vector<std::byte*> rows(plan.rows.size());
  for (const LayoutAddress& row : plan.rows) {
    const std::uint64_t address = address_of(warp, op.slot(plan.address), row.lane);
    rows[static_cast<std::size_t>(row.matrix * plan.fragment.rows() + row.row)] =
        resolve(warp, op, row.lane, address, reach);
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

void run_load(Warp& warp, const Operation& op, Mask mask) {
  require_full_warp(warp, op, mask);
  const auto& plan = op.plan_as<MatrixPlan>();
  const auto rows = resolve_rows(warp, op, plan, Access::read);
  std::vector<std::uint32_t> elements(plan.fragment.positions().size());
  const Type type = plan.fragment.type();
  for_elements(plan, rows, [&](std::span<const std::byte> row, std::size_t column, std::size_t i) {
    elements[i] = static_cast<std::uint32_t>(load_element(type, row, column));
  });
  plan.fragment.scatter<std::uint32_t>(warp.registers(), std::span(op.slots).subspan(op.first[plan.value]),
                                       elements);
  if (Judge* judge = warp.judge()) judge->meet(warp);  // no lane goes on before all rows are read
}

void run_store(Warp& warp, const Operation& op, Mask mask) {
  require_full_warp(warp, op, mask);
  const auto& plan = op.plan_as<MatrixPlan>();
  const auto rows = resolve_rows(warp, op, plan, Access::write);
  std::vector<std::uint32_t> elements;
  plan.fragment.gather(warp.registers(), std::span(op.slots).subspan(op.first[plan.value]), elements);
  const Type type = plan.fragment.type();
  for_elements(plan, rows, [&](std::span<std::byte> row, std::size_t column, std::size_t i) {
    store_element(type, row, column, elements[i]);
  });
}

void emit(Decoder& decoder, Semantic run) {
  const auto plan = decoder.plan_of_variant<MatrixPlan>([&] {
    auto made = std::make_shared<MatrixPlan>();
    made->fragment = Fragment(decoder, "D");
    const Layout layout = ptxloom::layout(decoder.variant(), "D");
    made->rows.assign(layout.addresses().begin(), layout.addresses().end());
    made->value = static_cast<std::size_t>(decoder.operand("D"));
    made->address = static_cast<std::size_t>(decoder.operand("P"));
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
  std::vector<std::uint32_t> elements;
  plan.from.gather(warp.registers(), std::span(op.slots).subspan(op.first[1]), elements);
  plan.to.scatter<std::uint32_t>(warp.registers(), op.slots, elements);
}

// movmatrix: the same elements by another map.
void decode_move(Decoder& decoder) {
  decoder.emit(&run_move, decoder.plan_of_variant<MovePlan>([&] {
    return std::make_shared<MovePlan>(MovePlan{.to = Fragment(decoder, "D"), .from = Fragment(decoder, "A")});
  }));
}

constexpr std::array kForms{
    Semantics{"movmatrix", decode_move},
    Semantics{"ldmatrix", decode_load},
    Semantics{"stmatrix", decode_store},
};

}  // namespace

std::span<const Semantics> matrix_semantics() { return kForms; }

}  // namespace ptxloom::exec
