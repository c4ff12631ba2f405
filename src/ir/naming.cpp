// SPDX-License-Identifier: Apache-2.0
#include "ir/naming.hpp"

#include <cstdio>

namespace ptxloom::ir {
namespace {

std::string hex(char prefix, int digits, std::int64_t bits) {
  char buffer[24];
  std::snprintf(buffer, sizeof buffer, "0%c%0*llX", prefix, digits, static_cast<unsigned long long>(bits));
  return buffer;
}

std::string plus(std::string base, std::int64_t offset) {
  if (offset != 0) base += "+" + std::to_string(offset);
  return base;
}

std::string register_text(const Kernel& kernel, std::uint32_t id) {
  return id < kernel.registers.size() ? name_of(kernel.registers[id])
                                      : "<register " + std::to_string(id) + ">";
}

std::string name_at(const std::vector<std::string>& names, std::uint32_t index) {
  return index < names.size() ? names[index] : "<name " + std::to_string(index) + ">";
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

std::string name_of(const RegisterDecl& decl) {
  if (!decl.name.empty()) return decl.name;
  return std::string(kRegisterClasses[register_class(decl.type)].prefix) + std::to_string(decl.number);
}

std::string text_of(const Kernel& kernel, const Operand& operand) {
  using Kind = Operand::Kind;
  const std::string sign = operand.negated ? "!" : "";
  switch (operand.kind) {
    case Kind::sink:
      return "_";
    case Kind::reg:
      return sign + register_text(kernel, operand.index);
    case Kind::integer:
      return sign + std::to_string(operand.value);
    case Kind::f32:
      return hex('f', 8, operand.value & 0xFFFFFFFF);
    case Kind::f64:
      return hex('d', 16, operand.value);
    case Kind::address:
      return plus(register_text(kernel, operand.index), operand.value);
    case Kind::symbol:
    case Kind::address_symbol:
      return plus(name_at(kernel.symbols, operand.index), operand.value);
    case Kind::address_absolute:
      return std::to_string(operand.value);
    case Kind::label:
      return name_at(kernel.labels, operand.index);
    case Kind::vector:
      return vector_text(kernel, operand);
    case Kind::literal:
      break;
  }
  return "<literal>";
}

}  // namespace ptxloom::ir
