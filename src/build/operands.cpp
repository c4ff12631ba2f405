// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "ptxloom/builder_operands.hpp"

namespace ptxloom {

Address Address::operator+(std::int64_t bytes) const {
  Address moved = *this;
  moved.operand.value += bytes;
  return moved;
}

namespace {

using Kind = ir::Operand::Kind;

Address::Index index_of(Reg index, Type element) {
  return {{.kind = Kind::reg, .index = index.id.id}, index.type, index.builder, element};
}

Address::Index index_of(std::int64_t index, Type element) {
  return {{.kind = Kind::integer, .value = index}, s64, 0, element};
}

Element element_of(const Pointer& pointer, const Address::Index& index) {
  return {{{.kind = Kind::address, .index = pointer.base.id.id}, pointer.base.builder, index, "global"},
          pointer.element,
          "global"};
}

Element element_of(const Shared& array, const Address::Index& index) {
  const ir::Operand base{.kind = Kind::address_symbol, .index = array.symbol, .value = array.offset};
  return {{base, array.builder, index, "shared"}, array.type, "shared"};
}

Element element_of(const Global& array, const Address::Index& index) {
  return {{{.kind = Kind::address_symbol, .index = array.variable}, array.builder, index, array.space},
          array.type,
          array.space};
}

}  // namespace

Element Pointer::operator[](Reg index) const { return element_of(*this, index_of(index, element)); }
Element Pointer::operator[](std::int64_t index) const { return element_of(*this, index_of(index, element)); }
Element Shared::operator[](Reg index) const { return element_of(*this, index_of(index, type)); }
Element Shared::operator[](std::int64_t index) const { return element_of(*this, index_of(index, type)); }
Element Global::operator[](Reg index) const { return element_of(*this, index_of(index, type)); }
Element Global::operator[](std::int64_t index) const { return element_of(*this, index_of(index, type)); }

Arg::Arg(float value)
    : operand_{.kind = ir::Operand::Kind::f32, .value = std::bit_cast<std::int32_t>(value)}, type_(f32) {}
Arg::Arg(double value)
    : operand_{.kind = ir::Operand::Kind::f64, .value = std::bit_cast<std::int64_t>(value)}, type_(f64) {}
Arg::Arg(Label label)
    : operand_{.kind = ir::Operand::Kind::label, .index = label.index}, builder_(label.builder) {}
Arg::Arg(Shared array)
    : operand_{.kind = ir::Operand::Kind::symbol, .index = array.symbol, .value = array.offset},
      builder_(array.builder) {}
Arg::Arg(Global array)
    : operand_{.kind = ir::Operand::Kind::symbol, .index = array.variable}, builder_(array.builder) {}

Arg::Arg(const Vector& vector)
    : operand_{.kind = ir::Operand::Kind::vector, .count = count_of(vector.elements.size())},
      elements_(vector.elements.data()) {}

Arg Arg::literal() {
  Arg arg(_);
  arg.operand_.kind = ir::Operand::Kind::literal;
  return arg;
}

Arg Arg::zero(Type type) {
  if (type == f32) return 0.0F;
  if (type == f64) return 0.0;
  return 0;
}

Arg Arg::negated(Reg predicate) {
  Arg arg(predicate);
  arg.operand_.negated = true;
  return arg;
}

}  // namespace ptxloom
