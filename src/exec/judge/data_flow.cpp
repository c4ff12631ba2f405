// SPDX-License-Identifier: Apache-2.0
#include "exec/judge/data_flow.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "exec/machine/warp.hpp"
#include "exec/memory/element.hpp"
#include "ptxloom/layout.hpp"

namespace ptxloom::exec {
namespace {

struct FormRule {
  std::string_view form;
  FlowRule rule;
  bool stores = false, exact = false;
};

// Forms that are not listed smear.
constexpr std::array kFormRules{
    FormRule{"mov", FlowRule::pack},
    FormRule{"mov.pack", FlowRule::pack},
    FormRule{"mov.unpack", FlowRule::pack},
    FormRule{"selp", FlowRule::choose},
    FormRule{"prmt", FlowRule::bytes},
    FormRule{"ld", FlowRule::loaded},
    FormRule{"ld.nc", FlowRule::loaded},
    FormRule{"ld.unified", FlowRule::loaded},
    FormRule{"ld.mmio", FlowRule::loaded},
    FormRule{"ldu", FlowRule::loaded},
    FormRule{"ld.param", FlowRule::none},
    FormRule{"ldmatrix", FlowRule::matrix},
    FormRule{"stmatrix", FlowRule::matrix},
    FormRule{"wmma.load", FlowRule::matrix},
    FormRule{"wmma.store", FlowRule::matrix},
    FormRule{"st", FlowRule::none, true, true},
    FormRule{"st.mmio", FlowRule::none, true, true},
    FormRule{"st.async.global", FlowRule::none, true},
    FormRule{"red", FlowRule::update, true},
    FormRule{"red.vector", FlowRule::update, true},
    FormRule{"atom", FlowRule::update, true},
    FormRule{"atom.vector", FlowRule::update, true},
    FormRule{"atom.cas", FlowRule::update, true},
    FormRule{"mma", FlowRule::matrix},
    FormRule{"mma.m8n8k4", FlowRule::matrix},
    FormRule{"mma.sp", FlowRule::matrix},
    FormRule{"mma.block_scale", FlowRule::matrix},
    FormRule{"mma.sp.block_scale", FlowRule::matrix},
    FormRule{"wmma.mma", FlowRule::matrix},
    FormRule{"wmma.mma.f16", FlowRule::matrix},
    FormRule{"wgmma.mma_async", FlowRule::matrix},
    FormRule{"movmatrix", FlowRule::matrix},
    FormRule{"shfl", FlowRule::elsewhere},
    FormRule{"shfl.sync", FlowRule::elsewhere},
    FormRule{"vote", FlowRule::collective},
    FormRule{"vote.sync", FlowRule::collective},
    FormRule{"match.any", FlowRule::collective},
    FormRule{"match.all", FlowRule::collective},
    FormRule{"redux.sync", FlowRule::collective},
    FormRule{"barrier.red", FlowRule::none},
};

FormRule rule_of(const Variant& variant) {
  const std::string_view form = variant.form();
  if (form == "logic") {
    const std::string_view op = variant.slot("op").value_or("");
    return {form, op == "and"  ? FlowRule::conjunction
                  : op == "or" ? FlowRule::disjunction
                               : FlowRule::exclusive};
  }
  if (form == "prmt" && variant.slot("mode")) return {form, FlowRule::smear};
  const auto found = std::ranges::find(kFormRules, form, &FormRule::form);
  return found == kFormRules.end() ? FormRule{form, FlowRule::smear} : *found;
}

// wmma fragments, whose maps are unspecified, count as vectors.
bool is_matrix(const Variant& variant, const OperandSpec& spec) {
  return spec.count != 0 || has_layout(variant, spec.name);
}

class Reader {
 public:
  Reader(const Code& code, const Operation& op)
      : function_(code.function_of(op)), slots_(code.register_slots[op.function]) {}

  /// A constant has as many bits as the operand's elements.
  void add(const ir::Operand& operand, int bits, std::vector<FlowPiece>& pieces) const {
    using Kind = ir::Operand::Kind;
    if (operand.kind == Kind::vector) {
      for (const ir::Operand& element : function_.elements_of(operand)) add(element, bits, pieces);
    } else if (operand.kind == Kind::reg || operand.kind == Kind::address) {
      add_register(operand, pieces);
    } else {
      pieces.push_back({.slot = {},
                        .bits = static_cast<std::uint8_t>(std::min(bits, 64)),
                        .value = static_cast<std::uint64_t>(operand.value)});
    }
  }

 private:
  void add_register(const ir::Operand& operand, std::vector<FlowPiece>& pieces) const {
    const ir::RegisterDecl& reg = function_.registers[operand.index];
    Slot slot = slots_[operand.index];
    slot.negated = operand.negated;
    const int bits = slot.bytes == 0 ? 1 : reg.type.bits;
    for (const Slot& row : rows_of(std::span(&slot, 1), slot.bytes == 16))
      pieces.push_back({.reg = &reg, .slot = row, .bits = static_cast<std::uint8_t>(std::min(bits, 64))});
  }

  const ir::Function& function_;
  const std::vector<Slot>& slots_;
};

DataFlow data_flow_of(const Code& code, const Operation& op) {
  const ir::Function& function = code.function_of(op);
  const ir::Instruction& instruction = function.instructions[op.instruction];
  const FormRule form = rule_of(instruction.variant);
  DataFlow flow{
      .rule = form.rule, .in = {}, .out = {}, .addresses = {}, .stores = form.stores, .exact = form.exact};
  flow.divides = instruction.variant.form() == "div.int";
  flow.multiplies = instruction.variant.form() == "wgmma.mma_async";
  flow.exchanges = instruction.variant.slot("op") == "exch";
  const Reader reader(code, op);
  const auto specs = instruction.variant.operands();
  const auto operands = function.operands_of(instruction);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const OperandSpec& spec = specs[i];
    if (spec.kind == OperandSpec::Kind::address) {
      if (operands[i].kind == ir::Operand::Kind::address) reader.add(operands[i], 64, flow.addresses);
      continue;
    }
    if (spec.kind != OperandSpec::Kind::value) continue;
    if (form.rule == FlowRule::matrix && !is_matrix(instruction.variant, spec)) {
      reader.add(operands[i], spec.type.bits, flow.addresses);
      continue;
    }
    if (flow.multiplies && spec.count != 0) reader.add(operands[i], spec.type.bits, flow.of_wgmma);
    if (spec.direction != OperandSpec::Direction::out) reader.add(operands[i], spec.type.bits, flow.in);
    if (spec.direction != OperandSpec::Direction::in) reader.add(operands[i], spec.type.bits, flow.out);
    if (spec.name == "D" || spec.name == "B")
      flow.element_bytes = static_cast<std::uint32_t>(std::min(spec.type.bytes(), 8));
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

}  // namespace

std::uint64_t value_of(Warp& warp, const FlowPiece& piece, int lane) {
  if (piece.reg == nullptr) return piece.value;
  if (piece.slot.bytes == 0) return Lanes<bool>(warp.registers(), piece.slot)[lane] ? 1 : 0;
  return read_element(warp.registers(), piece.slot, lane);
}

std::vector<DataFlow> data_flows_of(const Code& code) {
  std::vector<DataFlow> flows;
  for (const Operation& op : code.operations)
    flows.push_back(op.begins ? data_flow_of(code, op) : DataFlow());
  if (std::ranges::any_of(flows, &DataFlow::multiplies)) find_wgmma_registers(code, flows);
  return flows;
}

}  // namespace ptxloom::exec
