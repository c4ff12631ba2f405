// SPDX-License-Identifier: Apache-2.0
#include "ir/fit.hpp"

#include <algorithm>

namespace ptxloom::ir {
namespace {

using Kind = Operand::Kind;

// A vector of registers declared differently (`.b` and `.f`, `.s` and `.u`) is a vector of bits: only their
// size counts.
enum class As : std::uint8_t { declared, bits };

Misfit register_misfit(const Kernel& kernel, const OperandSpec& place, const Operand& operand, As as) {
  if (operand.index >= kernel.registers.size()) return Misfit::dangling;
  if (!place.registers_allowed) return Misfit::kind;
  if (operand.negated && !place.negation_allowed) return Misfit::negation;
  Type type = kernel.registers[operand.index].type;
  if (as == As::bits && type.kind != TypeKind::predicate) type.kind = TypeKind::bits;
  return register_fits(place, type) ? Misfit::none : Misfit::type;
}

bool in_range(const OperandSpec& place, std::int64_t value) {
  if (place.range) {
    const auto [first, last] = *place.range;
    if (value < first || value > last || (value - first) % place.step != 0) return false;
  }
  return place.choices.empty() ||
         std::find(place.choices.begin(), place.choices.end(), value) != place.choices.end();
}

Misfit literal_misfit(const OperandSpec& place, const Operand& operand) {
  if (!place.literal_allowed) return Misfit::kind;
  const Type& type = place.type;
  switch (operand.kind) {
    case Kind::integer:
      if (type.is_float()) return Misfit::literal;
      return in_range(place, operand.value) ? Misfit::none : Misfit::range;
    case Kind::f32:
      return type.is_float() || (type.kind == TypeKind::bits && type.bits == 32) ? Misfit::none
                                                                                 : Misfit::literal;
    default:
      return type.is_float() || (type.kind == TypeKind::bits && type.bits == 64) ? Misfit::none
                                                                                 : Misfit::literal;
  }
}

Misfit scalar_misfit(const Kernel& kernel, const OperandSpec& place, const Operand& operand,
                     As as = As::declared) {
  switch (operand.kind) {
    case Kind::reg:
      return register_misfit(kernel, place, operand, as);
    case Kind::integer:
    case Kind::f32:
    case Kind::f64:
      return literal_misfit(place, operand);
    case Kind::sink: {
      const bool element_of_result = place.count > 0 && place.direction == OperandSpec::Direction::out;
      return place.sink_allowed || element_of_result ? Misfit::none : Misfit::sink;
    }
    default:
      return Misfit::kind;
  }
}

// `{_}`, `{_, _}` and `{1}` leave ptxas no register to take the type from.
bool untyped(std::span<const Operand> elements) {
  if (std::all_of(elements.begin(), elements.end(), [](const Operand& e) { return e.kind == Kind::sink; }))
    return true;
  return elements.size() == 1 && elements[0].kind != Kind::reg;
}

struct ElementType {
  int bits = 0;  // 0: a literal or `_`, which takes any
  bool integer = false, floating = false;
};

ElementType element_type(const Kernel& kernel, const Operand& element) {
  switch (element.kind) {
    case Kind::reg: {
      const Type& type = kernel.registers[element.index].type;
      return {type.bits, type.is_integer(), type.is_float() && type.lanes == 1};
    }
    case Kind::integer:
      return {.integer = true};
    case Kind::f32:
    case Kind::f64:
      return {.floating = true};
    default:
      return {};
  }
}

// ptxas compares neighbours.
bool mixed(const Kernel& kernel, std::span<const Operand> elements) {
  ElementType last = element_type(kernel, elements[0]);
  for (const Operand& element : elements.subspan(1)) {
    const ElementType next = element_type(kernel, element);
    if (last.bits != 0 && next.bits != 0 && last.bits != next.bits) return true;
    if ((last.integer && next.floating) || (last.floating && next.integer)) return true;
    last = next;
  }
  return false;
}

// The registers of a vector are taken as declared only where they are all declared alike.
As vector_type(const Kernel& kernel, std::span<const Operand> elements) {
  std::optional<TypeKind> common;
  for (const Operand& element : elements) {
    if (element.kind != Kind::reg || element.index >= kernel.registers.size()) continue;
    const TypeKind kind = kernel.registers[element.index].type.kind;
    if (kind == TypeKind::bits || kind != common.value_or(kind)) return As::bits;
    common = kind;
  }
  return As::declared;
}

Mismatch vector_mismatch(const Kernel& kernel, const OperandSpec& place, const Operand& operand) {
  if (operand.kind != Kind::vector || operand.count != place.count) return {.why = Misfit::length};
  if (operand.index > kernel.operands.size() || operand.count > kernel.operands.size() - operand.index)
    return {.why = Misfit::dangling};
  const std::span<const Operand> elements = kernel.elements_of(operand);
  const As as = vector_type(kernel, elements);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const Misfit why = scalar_misfit(kernel, place, elements[i], as);
    if (why != Misfit::none) return {.why = why, .element = static_cast<std::int16_t>(i)};
  }
  if (elements.empty() || untyped(elements)) return {.why = Misfit::untyped};
  return {.why = mixed(kernel, elements) ? Misfit::mixed : Misfit::none};
}

// Addresses of tensor memory are 32 bits. Generic and global ones are 64; of the others, which are small,
// ptxas also takes narrower ones.
bool holds_address(const Type& type, std::string_view space) {
  if (type.is_float() || type.kind == TypeKind::predicate) return false;
  if (space == "tmem") return type.bits == 32;
  return type.bits == 64 || (type.bits < 64 && !space.empty() && space != "global");
}

Misfit address_misfit(const Kernel& kernel, const OperandSpec& place, const Operand& operand) {
  switch (operand.kind) {
    case Kind::address:
      if (operand.index >= kernel.registers.size()) return Misfit::dangling;
      return holds_address(kernel.registers[operand.index].type, place.space) ? Misfit::none
                                                                              : Misfit::address_type;
    case Kind::address_symbol:
      if (operand.index >= kernel.symbols.size()) return Misfit::dangling;
      if (operand.value < 0) return Misfit::address_offset;
      return space_fits(place.space, space_of(kernel, operand.index)) ? Misfit::none : Misfit::space;
    case Kind::address_absolute:
      return place.space == "local" ? Misfit::none : Misfit::address_offset;
    default:
      return Misfit::kind;
  }
}

}  // namespace

bool register_fits(const OperandSpec& place, const Type& given) {
  const Type& wanted = place.type;
  if (wanted.kind == TypeKind::predicate || given.kind == TypeKind::predicate)
    return wanted.kind == given.kind;
  if (given.bits < wanted.bits || (given.bits > wanted.bits && !place.wider_allowed)) return false;
  if (given.kind == TypeKind::bits || wanted.kind == TypeKind::bits) return true;
  if (wanted.is_integer()) return given.is_integer() || given.lanes > 1;
  return given == wanted;
}

SymbolSpace space_of(const Kernel& kernel, std::uint32_t symbol) {
  const std::string& name = kernel.symbols[symbol];
  for (const Parameter& parameter : kernel.parameters)
    if (parameter.name == name) return SymbolSpace::param;
  for (const Variable& variable : kernel.variables)
    if (variable.name == name) return static_cast<SymbolSpace>(variable.space);
  return SymbolSpace::elsewhere;
}

bool space_fits(std::string_view wanted, SymbolSpace space) {
  switch (space) {
    case SymbolSpace::global:
      return wanted.empty() || wanted == "global";
    case SymbolSpace::shared:
      return wanted.empty() || wanted.starts_with("shared");
    case SymbolSpace::local:
      return wanted.empty() || wanted == "local";
    case SymbolSpace::constant:
      return wanted == "const";
    case SymbolSpace::param:
      return wanted.starts_with("param");
    case SymbolSpace::elsewhere:
      break;
  }
  return true;
}

Mismatch find_mismatch(const Kernel& kernel, const OperandSpec& place, const Operand& operand) {
  switch (place.kind) {
    case OperandSpec::Kind::value:
      if (place.count > 0) return vector_mismatch(kernel, place, operand);
      if (operand.kind == Kind::vector) return {.why = Misfit::length};
      return {.why = scalar_misfit(kernel, place, operand)};
    case OperandSpec::Kind::address:
      return {.why = address_misfit(kernel, place, operand)};
    case OperandSpec::Kind::symbol:
      if (operand.kind != Kind::symbol) return {.why = Misfit::kind};
      return {.why = operand.index < kernel.symbols.size() ? Misfit::none : Misfit::dangling};
    case OperandSpec::Kind::label:
      if (operand.kind != Kind::label) return {.why = Misfit::kind};
      return {.why = operand.index < kernel.labels.size() ? Misfit::none : Misfit::dangling};
    case OperandSpec::Kind::literal:
      return {.why = operand.kind == Kind::literal ? Misfit::none : Misfit::kind};
  }
  return {.why = Misfit::kind};
}

Mismatch find_mismatch(const Kernel& kernel, std::span<const OperandSpec> places,
                       std::span<const Operand> operands) {
  for (std::size_t i = 0; i < places.size(); ++i) {
    Mismatch mismatch = find_mismatch(kernel, places[i], operands[i]);
    if (mismatch) {
      mismatch.operand = static_cast<std::uint32_t>(i);
      return mismatch;
    }
  }
  return {};
}

}  // namespace ptxloom::ir
