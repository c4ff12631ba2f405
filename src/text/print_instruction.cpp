// SPDX-License-Identifier: Apache-2.0
#include "text/print_instruction.hpp"

#include <algorithm>

#include "ir/naming.hpp"
#include "ptxloom/ptx.hpp"

namespace ptxloom {
namespace text {
namespace {

void write_offset(Buffer& out, const ir::Operand& operand) {
  if (operand.count != 0) {
    out << '[' << operand.value / operand.count << ']';
    return;
  }
  if (operand.value != 0 || operand.plus_zero) out << '+' << operand.value;
}

}  // namespace

RegisterNames::RegisterNames(const ir::Kernel& kernel) : kernel_(&kernel), names_(kernel.registers.size()) {
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const ir::RegisterDecl& decl = kernel.registers[i];
    Name& name = names_[i];
    if (decl.name.empty()) {
      const std::string_view prefix = ir::kRegisterClasses[ir::register_class(decl.type)].prefix;
      char* const digits = std::copy(prefix.begin(), prefix.end(), name.text);
      const char* const end = std::to_chars(digits, name.text + sizeof name.text, decl.number).ptr;
      name.length = static_cast<std::uint8_t>(end - name.text);
    } else {
      name.length = static_cast<std::uint8_t>(std::min<std::size_t>(decl.name.size(), sizeof name.text + 1));
      std::copy_n(decl.name.begin(), std::min<std::size_t>(name.length, sizeof name.text), name.text);
    }
  }
}

void InstructionPrinter::write_guard(Buffer& out, const std::optional<ir::Guard>& guard) const {
  if (!guard) return;
  out << (guard->negated ? "@!" : "@");
  names_.write(out, guard->reg.id);
  out << ' ';
}

void InstructionPrinter::write_list(Buffer& out, std::span<const ir::Operand> operands) const {
  out << '(';
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (i != 0) out << ", ";
    write_operand(out, operands[i], {});
  }
  out << ')';
}

void InstructionPrinter::write(Buffer& out, const ir::Call& call) const {
  write_guard(out, call.guard);
  out << (call.uniform ? "call.uni " : "call ");
  if (call.result_count != 0) {
    write_list(out, kernel_.results_of(call));
    out << ", ";
  }
  write_operand(out, call.callee, {});
  if (call.argument_count != 0) {
    out << ", ";
    write_list(out, kernel_.arguments_of(call));
  }
  if (call.targets) out << ", " << std::string_view(kernel_.labels[*call.targets]);
  out << ';';
}

void InstructionPrinter::write(Buffer& out, const ir::Instruction& instruction) const {
  write_guard(out, instruction.guard);
  out << instruction.variant.opcode();
  const std::span<const OperandSpec> places = instruction.variant.operands();
  const std::span<const ir::Operand> operands = kernel_.operands_of(instruction);
  const std::span<const OperandPiece> pieces = instruction.variant.pieces();
  if (!pieces.empty()) out << ' ';
  bool bare = false;  // the preceding address is written without brackets: x[2]
  for (const OperandPiece& piece : pieces) {
    std::string_view text = piece.text;
    if (bare && text.starts_with(']')) text.remove_prefix(1);
    const auto i = static_cast<std::size_t>(piece.operand);
    bare = piece.operand >= 0 && operands[i].kind == ir::Operand::Kind::address_symbol &&
           operands[i].count != 0 && text.ends_with('[');
    if (bare) text.remove_suffix(1);
    out << text;
    if (piece.operand >= 0) write_operand(out, operands[i], places[i]);
  }
  out << ';';
}

void InstructionPrinter::write_vector(Buffer& out, const ir::Operand& vector,
                                      const OperandSpec& place) const {
  out << '{';
  bool first = true;
  for (const ir::Operand& element : kernel_.elements_of(vector)) {
    if (!first) out << ", ";
    first = false;
    write_operand(out, element, place);
  }
  out << '}';
}

void InstructionPrinter::write_other(Buffer& out, const ir::Operand& operand,
                                     const OperandSpec& place) const {
  using Kind = ir::Operand::Kind;
  if (operand.negated) out << (place.negation_allowed && place.type != pred ? '-' : '!');
  switch (operand.kind) {
    case Kind::reg:
      names_.write(out, operand.index);
      if (operand.value != 0) out << '.' << std::string_view(ir::selector_of(operand));
      return;
    case Kind::address:
      names_.write(out, operand.index);
      return write_offset(out, operand);
    case Kind::vector:
      return write_vector(out, operand, place);
    case Kind::integer:
    case Kind::address_absolute:
      out << operand.value;
      return;
    case Kind::symbol:
    case Kind::address_symbol:
      out << std::string_view(kernel_.symbols[operand.index].name);
      return write_offset(out, operand);
    case Kind::f32:
      out << "0f", out.hex(static_cast<std::uint64_t>(operand.value), 8);
      return;
    case Kind::f64:
      out << "0d", out.hex(static_cast<std::uint64_t>(operand.value), 16);
      return;
    case Kind::label:
      out << std::string_view(kernel_.labels[operand.index]);
      return;
    case Kind::literal:
      out << std::string_view(place.text);
      return;
    case Kind::sink:
      out << '_';
      return;
  }
}

}  // namespace text

std::string print(const ir::Kernel& kernel, const ir::Instruction& instruction) {
  const text::RegisterNames names(kernel);
  text::Buffer out(256);
  text::InstructionPrinter(kernel, names).write(out, instruction);
  return out.take();
}

std::string print(const ir::Function& function, const ir::Call& call) {
  const text::RegisterNames names(function);
  text::Buffer out(256);
  text::InstructionPrinter(function, names).write(out, call);
  return out.take();
}

}  // namespace ptxloom
