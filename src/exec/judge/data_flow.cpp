// SPDX-License-Identifier: Apache-2.0
#include "exec/judge/data_flow.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "exec/machine/call.hpp"
#include "exec/machine/warp.hpp"
#include "exec/memory/element.hpp"
#include "ptxloom/layout.hpp"

namespace ptxloom::exec {
namespace {

// wmma fragments, whose maps are unspecified, count as vectors.
bool is_matrix(const Variant& variant, const OperandSpec& spec) {
  return spec.count != 0 || has_layout(variant, spec.name);
}

constexpr int kWhole = 128;  // a register, whatever its size

class Reader {
 public:
  Reader(const Code& code, const Operation& op)
      : function_(code.function_of(op)), slots_(code.register_slots[op.function]) {}

  /// An instruction reads as many bits of a register or a constant as the operand's elements have.
  void add(const ir::Operand& operand, int bits, std::vector<FlowPiece>& pieces) const {
    using Kind = ir::Operand::Kind;
    if (operand.kind == Kind::vector) {
      const int element_bits = std::min(bits, bits_of_elements(operand));
      for (const ir::Operand& element : function_.elements_of(operand)) add(element, element_bits, pieces);
    } else if (operand.kind == Kind::reg || operand.kind == Kind::address) {
      add_register(operand, bits, pieces);
    } else {
      pieces.push_back({.slot = {},
                        .bits = static_cast<std::uint8_t>(std::min(bits, 64)),
                        .value = static_cast<std::uint64_t>(operand.value)});
    }
  }

 private:
  /// A sink takes the place of a register as large as the others of its vector.
  int bits_of_elements(const ir::Operand& vector) const {
    int bits = 0;
    for (const ir::Operand& element : function_.elements_of(vector))
      if (element.kind == ir::Operand::Kind::reg)
        bits = std::max<int>(bits, function_.registers[element.index].type.bits);
    return bits == 0 ? kWhole : bits;
  }

  void add_register(const ir::Operand& operand, int read, std::vector<FlowPiece>& pieces) const {
    const ir::RegisterDecl& reg = function_.registers[operand.index];
    Slot slot = slots_[operand.index];
    slot.negated = operand.negated;
    const int bits = slot.bytes == 0 ? 1 : read == 0 ? reg.type.bits : std::min<int>(reg.type.bits, read);
    for (const Slot& row : rows_of(std::span(&slot, 1), slot.bytes == 16))
      pieces.push_back({.reg = &reg, .slot = row, .bits = static_cast<std::uint8_t>(std::min(bits, 64))});
  }

  const ir::Function& function_;
  const std::vector<Slot>& slots_;
};

DataFlow data_flow_of(const Code& code, const Operation& op, const FormFlow& declared) {
  const ir::Function& function = code.function_of(op);
  const ir::Instruction& instruction = function.instructions[op.instruction];
  const FormFlow form = declared.of_variant != nullptr ? declared.of_variant(instruction.variant) : declared;
  const bool smears = form.rule == FlowRule::computed && form.function == nullptr;
  DataFlow flow{.rule = smears ? FlowRule::smear : form.rule,
                .function = form.function,
                .in = {},
                .out = {},
                .addresses = {},
                .multiplies = form.multiplies,
                .moves = form.moves,
                .stores = form.stores,
                .exact = form.exact,
                .divides = form.divides,
                .scales = form.scales};
  const std::string_view sem = instruction.variant.slot("sem").value_or("");
  flow.synchronises = form.synchronises || sem == "acquire" || sem == "release" || sem == "acq_rel";
  flow.exchanges = instruction.variant.slot("op") == "exch";
  flow.volatile_data = instruction.variant.slot("sem") == "volatile";
  const Reader reader(code, op);
  const auto specs = instruction.variant.operands();
  const auto operands = function.operands_of(instruction);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const OperandSpec& spec = specs[i];
    if (spec.kind == OperandSpec::Kind::address) {
      flow.own_memory |= spec.space.starts_with("param") || spec.space == "local";
      if (operands[i].kind == ir::Operand::Kind::address) reader.add(operands[i], 64, flow.addresses);
      continue;
    }
    if (spec.kind != OperandSpec::Kind::value) continue;
    if ((flow.rule == FlowRule::matrix && !is_matrix(instruction.variant, spec)) || spec.name == "MASK") {
      reader.add(operands[i], spec.type.bits, flow.addresses);
      continue;
    }
    if (flow.multiplies && spec.count != 0) reader.add(operands[i], spec.type.bits, flow.of_wgmma);
    if (spec.direction != OperandSpec::Direction::out) reader.add(operands[i], spec.type.bits, flow.in);
    if (spec.direction != OperandSpec::Direction::in) reader.add(operands[i], kWhole, flow.out);
    if (spec.name == "D" || spec.name == "B")
      flow.element_bytes = static_cast<std::uint32_t>(std::min(spec.type.whole_bytes(), 8));
  }
  if (flow.exact)
    flow.in.resize(static_cast<std::size_t>(instruction.variant.operand("B").registers()) *
                   (instruction.variant.operand("B").type.bits == 128 ? 2 : 1));
  return flow;
}

// For a wgmma: its matrices in registers; for others: the registers they share with those.
void find_wgmma_registers(const Code& code, std::vector<DataFlow>& flows) {
  std::vector<bool> used(code.registers.size());
  const auto add = [](DataFlow& flow, const std::vector<FlowPiece>& pieces, auto chosen) {
    for (const FlowPiece& piece : pieces)
      if (piece.reg != nullptr && chosen(piece)) flow.of_wgmma.push_back(piece);
  };
  for (const DataFlow& flow : flows) {
    for (const FlowPiece& piece : flow.of_wgmma) used[piece.slot.offset] = true;
  }
  const auto is_used = [&](const FlowPiece& piece) { return used[piece.slot.offset]; };
  for (DataFlow& flow : flows) {
    if (flow.multiplies) continue;
    for (const auto* pieces : {&flow.in, &flow.out, &flow.addresses}) add(flow, *pieces, is_used);
  }
}

// Follows the value of a load through registers, in the order of the text, and once around the loops that
// the load is in. It is not followed out of the function or through local memory, where it may decide
// something.
class Spread {
 public:
  Spread(const Code& code, const std::vector<DataFlow>& flows) : code_(code), flows_(flows) {}

  /// Whether what the operation loads decides anything: a predicate, a branch, what a call passes or
  /// returns.
  bool decides(std::size_t load) {
    reached_.clear();
    skipped_to_ = 0;
    if (add(flows_[load].out)) return true;
    for (std::size_t i = load + 1; i < flows_.size() && !reached_.empty(); ++i) {
      if (code_.operations[i].function != code_.operations[load].function) break;
      if (passes(i)) return true;
      const std::uint32_t target = code_.operations[i].target;
      if (target != 0 && target <= load && decides_from(target, load)) return true;
    }
    return false;
  }

 private:
  bool decides_from(std::size_t begin, std::size_t end) {
    const std::vector<std::uint32_t> after = reached_;
    const std::size_t skipped_to = std::exchange(skipped_to_, 0);
    bool found = false;
    for (std::size_t i = begin; i < end && !found; ++i) found = passes(i);
    reached_ = after;
    skipped_to_ = skipped_to;
    return found;
  }

  bool passes(std::size_t i) {
    const DataFlow& flow = flows_[i];
    const Operation& op = code_.operations[i];
    if (leaves(op)) return true;
    if (reaches(flow.in) || reaches(flow.addresses))
      return flow.rule == FlowRule::decides || (flow.own_memory && reaches(flow.in)) || add(flow.out);
    skipped_to_ = std::max<std::size_t>(skipped_to_, op.target);
    if (op.guarded || i < skipped_to_) return false;  // it may not be executed
    for (const FlowPiece& piece : flow.out)
      if (piece.reg != nullptr) std::erase(reached_, piece.slot.offset);
    return false;
  }

  /// Whether a call passes the value in a register, or the function returns it in one.
  bool leaves(const Operation& op) const {
    if (op.run == &run_call) return reaches(op.plan_as<CallPlan>().arguments);
    return op.run == &run_return && reaches(code_.callees[op.function - 1].results);
  }

  /// Whether there is a predicate among them.
  bool add(const std::vector<FlowPiece>& pieces) {
    for (const FlowPiece& piece : pieces)
      if (piece.reg != nullptr && !is_reached(piece)) reached_.push_back(piece.slot.offset);
    return std::ranges::any_of(
        pieces, [](const FlowPiece& piece) { return piece.reg != nullptr && piece.slot.bytes == 0; });
  }
  bool is_reached(const FlowPiece& piece) const {
    return piece.reg != nullptr && std::ranges::find(reached_, piece.slot.offset) != reached_.end();
  }
  bool reaches(const std::vector<FlowPiece>& pieces) const {
    return std::ranges::any_of(pieces, [&](const FlowPiece& piece) { return is_reached(piece); });
  }

  bool reaches(const std::vector<Location>& passed) const {
    return std::ranges::any_of(passed, [&](const Location& each) {
      return !each.in_memory && std::ranges::find(reached_, each.slot.offset) != reached_.end();
    });
  }

  const Code& code_;
  const std::vector<DataFlow>& flows_;
  std::vector<std::uint32_t> reached_;  // offsets
  std::size_t skipped_to_ = 0;          // the farthest target of the branches so far
};

// Whether it may be strong and gives a value: a load with a .sem, or an atomic operation.
bool reads_strongly(const Code& code, const DataFlow& flow, const Operation& op) {
  if (flow.out.empty()) return false;
  if (flow.rule != FlowRule::loaded) return flow.rule == FlowRule::update;
  const auto sem = code.function_of(op).instructions[op.instruction].variant.slot("sem");
  return sem && *sem != "weak";
}

// A flag is polled, and compared; what is only computed with is data.
void find_tests(const Code& code, std::vector<DataFlow>& flows) {
  Spread spread(code, flows);
  for (std::size_t i = 0; i < flows.size(); ++i) {
    DataFlow& flow = flows[i];
    if (reads_strongly(code, flow, code.operations[i])) flow.tests = spread.decides(i);
    if (flow.volatile_data && flow.rule == FlowRule::loaded) flow.volatile_data = !flow.tests;
  }
}

}  // namespace

std::uint64_t value_of(Warp& warp, const FlowPiece& piece, int lane) {
  if (piece.reg == nullptr) return piece.value;
  if (piece.slot.bytes == 0) return Lanes<bool>(warp.registers(), piece.slot)[lane] ? 1 : 0;
  return read_element(warp.registers(), piece.slot, lane);
}

std::vector<DataFlow> data_flows_of(const Code& code) {
  const auto semantics = semantics_by_form();
  const auto form_of = [&](const Operation& op) {
    return code.function_of(op).instructions[op.instruction].variant.form();
  };
  std::vector<DataFlow> flows;
  for (const Operation& op : code.operations)
    flows.push_back(op.begins ? data_flow_of(code, op, semantics.at(form_of(op))->flow) : DataFlow());
  if (std::ranges::any_of(flows, &DataFlow::multiplies)) find_wgmma_registers(code, flows);
  find_tests(code, flows);
  return flows;
}

}  // namespace ptxloom::exec
