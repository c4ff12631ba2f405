// SPDX-License-Identifier: Apache-2.0
#include "exec/judge/arithmetic.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/numeric_format.hpp"
#include "exec/machine/cluster.hpp"
#include "exec/memory/element.hpp"
#include "ptxloom/layout.hpp"
#include "ptxloom/numeric.hpp"

namespace ptxloom::exec {
namespace {

// The type of one value of a packed type: f16 of f16x2.
std::optional<Type> element_of(const Type& type) {
  if (type.lanes == 1) return type;
  return find_type(type.name.substr(0, type.name.find_last_of('x')));
}

// The least magnitude of a normal value.
double least_normal(const Type& type) {
  const base::FloatFormat* const format = base::find_format(type);
  return format == nullptr || !format->has_zero ? 0 : std::ldexp(1.0, format->min_exponent());
}

bool any_nan(const std::vector<double>& values) {
  return std::ranges::any_of(values, [](double value) { return std::isnan(value); });
}
bool any_infinite(const std::vector<double>& values) {
  return std::ranges::any_of(values, [](double value) { return std::isinf(value); });
}

std::string from(const std::vector<double>& in) {
  constexpr std::size_t most = 4;
  if (in.size() > most) return "operands without any";
  return in.empty() ? "an integer" : fmt::format("{}", fmt::join(in, ", "));
}

}  // namespace

void Arithmetic::add(const ir::Function& function, const std::vector<Slot>& slots, const ir::Operand& operand,
                     const Type& element, int count, std::vector<Piece>& pieces) {
  using Kind = ir::Operand::Kind;
  const auto bits = static_cast<std::uint64_t>(operand.value);
  switch (operand.kind) {
    case Kind::vector:
      for (const ir::Operand& each : function.elements_of(operand))
        add(function, slots, each, element, count, pieces);
      return;
    case Kind::reg:
      pieces.push_back({.slot = slots[operand.index], .type = element, .count = count});
      return;
    case Kind::f32:
      pieces.push_back({.constant = std::bit_cast<float>(static_cast<std::uint32_t>(bits)), .type = element});
      return;
    case Kind::f64:
      pieces.push_back({.constant = std::bit_cast<double>(bits), .type = element});
      return;
    default:
      return;
  }
}

Arithmetic::Plan Arithmetic::make_plan(const Operation& op, const DataFlow& flow) const {
  const Code& code = cluster_->grid().code();
  const ir::Function& function = code.function_of(op);
  const ir::Instruction& instruction = function.instructions[op.instruction];
  Plan plan{.in = {}, .out = {}, .collective = flow.rule == FlowRule::matrix, .scales = flow.scales};
  plan.flushes = instruction.variant.slot("ftz") == "ftz";
  const auto specs = instruction.variant.operands();
  const auto operands = function.operands_of(instruction);
  if (flow.multiplies || std::ranges::any_of(specs, [](const OperandSpec& spec) {
        return spec.kind == OperandSpec::Kind::address;
      }))
    return plan;
  int widest = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const OperandSpec& spec = specs[i];
    if (spec.kind != OperandSpec::Kind::value) continue;
    const bool matrix = plan.collective && has_layout(instruction.variant, spec.name);
    const std::optional<Type> element =
        matrix ? layout(instruction.variant, spec.name).type : element_of(spec.type);
    if (!element || !element->is_float() || element->bits < 8) continue;
    const int count = matrix ? std::max(1, spec.type.bits / element->bits) : spec.type.lanes;
    const bool reads = spec.direction != OperandSpec::Direction::out;
    const auto& slots = code.register_slots[op.function];
    if (reads) add(function, slots, operands[i], *element, count, plan.in);
    if (reads) widest = std::max<int>(widest, element->bits);
    if (spec.direction != OperandSpec::Direction::in)
      add(function, slots, operands[i], *element, count, plan.out);
  }
  plan.narrows = !plan.collective && !plan.out.empty() && (widest == 0 || plan.out[0].type.bits < widest);
  return plan;
}

const Arithmetic::Plan& Arithmetic::plan_of(const Operation& op, const DataFlow& flow) {
  const Code& code = cluster_->grid().code();
  plans_.resize(code.operations.size());
  std::optional<Plan>& plan = plans_[code.number_of(op)];
  if (!plan) plan = make_plan(op, flow);
  return *plan;
}

std::vector<double> Arithmetic::values(Warp& warp, const std::vector<Piece>& pieces, int lane) {
  std::vector<double> all;
  for (const Piece& piece : pieces) {
    if (!piece.slot) {
      all.push_back(piece.constant);
      continue;
    }
    const std::uint64_t bits = read_element(warp.registers(), *piece.slot, lane);
    for (int i = 0; i < piece.count; ++i) {
      const std::uint64_t element = bits >> i * piece.type.bits & low_bits(piece.type.bits);
      all.push_back(decode(piece.type, element));
    }
  }
  return all;
}

void Arithmetic::begin(Warp& warp, const Operation& op, const DataFlow& flow, Mask lanes) {
  finish();
  const Plan& plan = plan_of(op, flow);
  if (plan.out.empty() || lanes == 0) return;
  pending_.emplace(Pending{.warp = &warp, .op = &op, .plan = &plan, .lanes = lanes, .in = {}});
  for (Mask rest = lanes; rest != 0; rest &= rest - 1)
    pending_->in.push_back(values(warp, plan.in, std::countr_zero(rest)));
}

void Arithmetic::finish() {
  if (!pending_) return;
  const Pending done = std::move(*pending_);
  pending_.reset();
  std::vector<double> all;
  if (done.plan->collective)
    for (const auto& each : done.in) all.insert(all.end(), each.begin(), each.end());
  auto in = done.in.begin();
  for (Mask rest = done.lanes; rest != 0; rest &= rest - 1, ++in)
    check(done, std::countr_zero(rest), done.plan->collective ? all : *in);
}

void Arithmetic::check(const Pending& done, int lane, const std::vector<double>& in) const {
  const Actor actor{done.warp, done.op, lane};
  const std::vector<double> out = values(*done.warp, done.plan->out, lane);
  if (any_nan(out) && !any_nan(in)) {
    return report(actor, {.code = "arithmetic-nan"},
                  "check the operands before: 0/0, inf-inf, 0*inf, and roots or logarithms of "
                  "negative values are NaN",
                  [&] { return "its result is NaN, computed from " + from(in); });
  }
  if (any_infinite(out) && !any_infinite(in) && !any_nan(in)) {
    if (done.plan->narrows)
      return report(actor, {.code = "arithmetic-overflow"}, "scale the value first, or use .satfinite", [&] {
        return fmt::format("its result is infinite in .{}, converted from {}", done.plan->out[0].type.name,
                           from(in));
      });
    return report(actor, {.code = "arithmetic-infinity"},
                  "check the operands for overflow, or for a division by 0",
                  [&] { return "its result is infinite, computed from " + from(in); });
  }
  check_small(done, actor, in, out);
}

void Arithmetic::check_small(const Pending& done, const Actor& actor, const std::vector<double>& in,
                             const std::vector<double>& out) const {
  const Plan& plan = *done.plan;
  const double least = least_normal(plan.out[0].type);
  const double least_in = plan.in.empty() ? 0 : least_normal(plan.in[0].type);
  const auto is_subnormal = [](double value, double limit) { return value != 0 && std::abs(value) < limit; };
  const auto find = [&](const std::string& what) {
    report(actor, {.code = "arithmetic-underflow"}, "scale the values, or use a type with a larger range",
           [&] { return what; });
  };
  const bool subnormal_in =
      std::ranges::any_of(in, [&](double value) { return is_subnormal(value, least_in); });
  if (plan.flushes && subnormal_in) return find("it takes a subnormal operand for 0 (.ftz): of " + from(in));
  if (!plan.scales && !plan.narrows) return;
  if (in.empty()) return;                       // an integer: its magnitude is 0, or at least 1
  if (plan.scales && any_infinite(in)) return;  // a finite value by infinity is 0 exactly
  const auto is_new = [&](double value) {
    return std::abs(value) < least && std::ranges::find(in, value) == in.end();
  };
  if (std::ranges::none_of(out, is_new) || std::ranges::any_of(in, [](double value) { return value == 0; }))
    return;
  const bool zero = std::ranges::any_of(out, [](double value) { return value == 0; });
  find(fmt::format("its result is {} in .{}, computed from {}", zero ? "0" : "subnormal",
                   plan.out[0].type.name, from(in)));
}

}  // namespace ptxloom::exec
