// SPDX-License-Identifier: Apache-2.0
#include "oracle/instance.hpp"

#include <algorithm>

#include "spec/cell.hpp"

namespace ptxloom::oracle {
namespace {

constexpr int kSpread = 5;  // register numbers between operands
// No two operands share a register if an instruction has several vectors longer than this, or one such vector
// and another result.
constexpr int kLong = 8;

std::vector<std::string_view> symbols(const OperandSpec& operand) { return spec::split(operand.text, '|'); }

std::string operand_text(const OperandSpec& operand, int number, std::size_t symbol) {
  switch (operand.kind) {
    case OperandSpec::Kind::address:
      if (operand.text.empty()) return register_name(operand.space == "tmem" ? b32 : b64, number);
      [[fallthrough]];
    case OperandSpec::Kind::symbol:
      return std::string(symbols(operand)[symbol % symbols(operand).size()]);
    case OperandSpec::Kind::label:
      return operand.text.empty() ? "L0" : std::string(operand.text);
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

}  // namespace

std::string register_name(const Type& type, int number) {
  if (type == pred) return "P" + std::to_string(number);
  return "R" + std::to_string(type.whole_bytes() * 8) + "_" + std::to_string(number);
}

std::string immediate(const OperandSpec& operand) {
  if (!operand.choices.empty()) return std::to_string(operand.choices.front());
  return std::to_string(operand.range ? operand.range->first : 0);
}

bool is_apart(std::span<const OperandSpec> operands) {
  const auto count = [&](auto holds) { return std::ranges::count_if(operands, holds); };
  if (count([](const OperandSpec& any) { return any.count > kLong; }) > 1) return true;
  const auto is_result = [](const OperandSpec& any) { return any.direction == OperandSpec::Direction::out; };
  return count(is_result) > 1 &&
         count([&](const OperandSpec& any) { return is_result(any) && any.count > kSpread; }) > 0;
}

std::vector<std::string> operand_texts(std::span<const OperandSpec> operands, std::size_t symbol) {
  const bool apart = is_apart(operands);
  std::vector<std::string> texts;
  int number = 1;
  for (const OperandSpec& operand : operands) {
    texts.push_back(operand_text(operand, number, symbol));
    number += apart ? std::max(kSpread, operand.count) : kSpread;
  }
  return texts;
}

std::string line_of(std::string_view opcode, std::span<const OperandPiece> pieces,
                    std::span<const std::string> operands) {
  std::string line(opcode);
  if (!pieces.empty()) line += ' ';
  for (const OperandPiece& piece : pieces) {
    line += piece.text;
    if (piece.operand >= 0) line += operands[static_cast<std::size_t>(piece.operand)];
  }
  return line + ";";
}

std::vector<OperandPiece> with_one_more(std::span<const OperandPiece> pieces, const std::string& one) {
  std::vector<OperandPiece> more(pieces.begin(), pieces.end());
  more.push_back({.text = (pieces.empty() ? "" : ", ") + one, .operand = -1});
  return more;
}

std::vector<std::string> lines_of(const Variant& variant) {
  std::size_t count = 1;
  for (const OperandSpec& operand : variant.operands()) {
    if (operand.kind == OperandSpec::Kind::symbol) count = std::max(count, symbols(operand).size());
  }
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < count; ++i)
    lines.push_back(line_of(variant.opcode(), variant.pieces(), operand_texts(variant.operands(), i)));
  return lines;
}

}  // namespace ptxloom::oracle
