// SPDX-License-Identifier: Apache-2.0
#include "oracle/instance.hpp"

#include <algorithm>

#include "spec/cell.hpp"

namespace ptxloom::oracle {
namespace {

constexpr int kSpread = 5;  // register numbers between operands

std::string register_name(const Type& type, int number) {
  if (type == pred) return "P" + std::to_string(number);
  return "R" + std::to_string(type.bytes() * 8) + "_" + std::to_string(number);
}

std::string immediate(const OperandSpec& operand) {
  if (!operand.choices.empty()) return std::to_string(operand.choices.front());
  return std::to_string(operand.range ? operand.range->first : 0);
}

std::vector<std::string_view> symbols(const OperandSpec& operand) { return spec::split(operand.text, '|'); }

std::string operand_text(const OperandSpec& operand, int number, std::size_t symbol) {
  switch (operand.kind) {
    case OperandSpec::Kind::address:
      return operand.space.starts_with("param") ? "kp" : register_name(b64, number);
    case OperandSpec::Kind::symbol:
      return std::string(symbols(operand)[symbol]);
    case OperandSpec::Kind::label:
      return "L0";
    case OperandSpec::Kind::literal:
      return operand.text;
    case OperandSpec::Kind::value:
      break;
  }
  if (!operand.registers_allowed) return operand.literal_allowed ? immediate(operand) : "_";
  if (operand.count == 0) return register_name(operand.type, number);
  std::string vector = "{";
  for (int i = 0; i < operand.count; ++i) {
    vector += (i == 0 ? "" : ", ") + register_name(operand.type, number + i);
  }
  return vector + "}";
}

bool takes_immediate(const OperandSpec& ours, const OperandSpec& tried) {
  const std::int64_t value = std::stoll(immediate(tried));
  if (!ours.choices.empty())
    return std::find(ours.choices.begin(), ours.choices.end(), value) != ours.choices.end();
  return !ours.range || (ours.range->first <= value && value <= ours.range->second);
}

}  // namespace

std::string line_of(std::string_view opcode, std::span<const OperandSpec> operands,
                    std::span<const OperandPiece> pieces, std::size_t symbol) {
  std::string line(opcode);
  if (!pieces.empty()) line += ' ';
  for (const OperandPiece& piece : pieces) {
    line += piece.text;
    if (piece.operand < 0) continue;
    line +=
        operand_text(operands[static_cast<std::size_t>(piece.operand)], 1 + kSpread * piece.operand, symbol);
  }
  return line + ";";
}

std::vector<std::string> lines_of(const Variant& variant) {
  std::size_t count = 1;
  for (const OperandSpec& operand : variant.operands()) {
    if (operand.kind == OperandSpec::Kind::symbol) count = std::max(count, symbols(operand).size());
  }
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < count; ++i) {
    lines.push_back(line_of(variant.opcode(), variant.operands(), variant.pieces(), i));
  }
  return lines;
}

bool covers(const OperandSpec& ours, const OperandSpec& tried) {
  const bool names_parameter = ours.kind == OperandSpec::Kind::address && ours.space.starts_with("param");
  if (names_parameter && tried.kind == OperandSpec::Kind::symbol) return true;
  if (ours.kind != tried.kind) return false;
  switch (ours.kind) {
    case OperandSpec::Kind::address:
      return names_parameter == tried.space.starts_with("param");
    case OperandSpec::Kind::literal:
      return ours.text == tried.text;
    case OperandSpec::Kind::symbol:  // which symbols fit is a rule of src/check
    case OperandSpec::Kind::label:
      return true;
    case OperandSpec::Kind::value:
      break;
  }
  if (!tried.registers_allowed) {
    return tried.literal_allowed ? ours.literal_allowed && takes_immediate(ours, tried) : ours.sink_allowed;
  }
  const bool fits =
      ours.type.bits == tried.type.bits || (ours.wider_allowed && tried.type.bits > ours.type.bits);
  return ours.registers_allowed && ours.count == tried.count && fits &&
         (ours.type == pred) == (tried.type == pred);
}

}  // namespace ptxloom::oracle
