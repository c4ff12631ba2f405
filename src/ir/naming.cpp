// SPDX-License-Identifier: Apache-2.0
#include "ir/naming.hpp"

#include <algorithm>
#include <cstdio>

namespace ptxloom::ir {
namespace {

std::string hex(char prefix, int digits, std::int64_t bits) {
  char buffer[24];
  std::snprintf(buffer, sizeof buffer, "0%c%0*llX", prefix, digits, static_cast<unsigned long long>(bits));
  return buffer;
}

std::string plus(std::string base, const Operand& operand) {
  if (operand.count != 0) return base + "[" + std::to_string(operand.value / operand.count) + "]";
  if (operand.value != 0 || operand.plus_zero) base += "+" + std::to_string(operand.value);
  return base;
}

std::string register_text(const Kernel& kernel, std::uint32_t id) {
  return id < kernel.registers.size() ? name_of(kernel.registers[id])
                                      : "<register " + std::to_string(id) + ">";
}

std::string symbol_text(const Kernel& kernel, std::uint32_t index) {
  return index < kernel.symbols.size() ? kernel.symbols[index].name
                                       : "<symbol " + std::to_string(index) + ">";
}

std::string vector_text(const Kernel& kernel, const Operand& vector) {
  if (vector.index > kernel.operands.size() || vector.count > kernel.operands.size() - vector.index)
    return "<vector>";
  std::string out = "{";
  for (const Operand& element : kernel.elements_of(vector)) {
    if (out.size() > 1) out += ", ";
    out += element.kind == Operand::Kind::vector ? "<vector>" : text_of(kernel, element);
  }
  return out + "}";
}

}  // namespace

// PTX ISA, "Identifiers": one that starts with _, $ or % must have more characters.
bool is_identifier(std::string_view name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto follows = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '$'; };
  if (name.empty() || name == "WARP_SZ" || !std::all_of(name.begin() + 1, name.end(), follows)) return false;
  const char first = name.front();
  return letter(first) || ((first == '_' || first == '$' || first == '%') && name.size() > 1);
}

std::string name_of(const RegisterDecl& decl) {
  if (!decl.name.empty()) return decl.name;
  return std::string(kRegisterClasses[register_class(decl.type)].prefix) + std::to_string(decl.number);
}

std::int64_t pack_selector(std::string_view letters) {
  std::uint64_t packed = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(letters.size(), 8); ++i)
    packed |= std::uint64_t{static_cast<unsigned char>(letters[i])} << (8 * i);
  return static_cast<std::int64_t>(packed);
}

std::string selector_of(const Operand& reg) {
  std::string letters;
  for (auto left = static_cast<std::uint64_t>(reg.value); left != 0; left >>= 8)
    letters += static_cast<char>(left & 0xFF);
  return letters;
}

std::string text_of(const Kernel& kernel, const Operand& operand) {
  using Kind = Operand::Kind;
  const bool number = operand.kind == Kind::reg && operand.index < kernel.registers.size() &&
                      kernel.registers[operand.index].type != pred;
  const std::string sign = operand.negated ? (number ? "-" : "!") : "";
  switch (operand.kind) {
    case Kind::sink:
      return "_";
    case Kind::reg:
      return sign + register_text(kernel, operand.index) +
             (operand.value != 0 ? "." + selector_of(operand) : "");
    case Kind::integer:
      return sign + std::to_string(operand.value);
    case Kind::f32:
      return hex('f', 8, operand.value & 0xFFFFFFFF);
    case Kind::f64:
      return hex('d', 16, operand.value);
    case Kind::address:
      return plus(register_text(kernel, operand.index), operand);
    case Kind::symbol:
    case Kind::address_symbol:
      return plus(symbol_text(kernel, operand.index), operand);
    case Kind::address_absolute:
      return std::to_string(operand.value);
    case Kind::label:
      return operand.index < kernel.labels.size() ? kernel.labels[operand.index]
                                                  : "<label " + std::to_string(operand.index) + ">";
    case Kind::vector:
      return vector_text(kernel, operand);
    case Kind::literal:
      break;
  }
  return "<literal>";
}

}  // namespace ptxloom::ir
