// SPDX-License-Identifier: Apache-2.0
#include "ir/fit.hpp"

#include <algorithm>

#include "ir/naming.hpp"

namespace ptxloom::ir {
namespace {

using Kind = Operand::Kind;

// A vector of elements of several classes (`.b` and `.f`) is a vector of bits: only the size of its registers
// counts, and predicates and literals are not looked at.
enum class As : std::uint8_t { declared, bits };

// "b[0-3]|h[0-1]": words, where brackets stand for one character of a range.
bool selects(std::string_view pattern, std::string_view word) {
  while (!pattern.empty() && !word.empty() && pattern[0] != '|') {
    const bool range = pattern[0] == '[' && pattern.size() > 4;
    if (range ? word[0] < pattern[1] || word[0] > pattern[3] : word[0] != pattern[0]) break;
    pattern.remove_prefix(range ? 5 : 1);
    word.remove_prefix(1);
  }
  return word.empty() && (pattern.empty() || pattern[0] == '|');
}

bool selects_any(std::string_view patterns, std::string_view word) {
  for (;;) {
    if (selects(patterns, word)) return true;
    const std::size_t next = patterns.find('|');
    if (next == patterns.npos) return false;
    patterns.remove_prefix(next + 1);
  }
}

Misfit register_misfit(const Kernel& kernel, const OperandSpec& place, const Operand& operand, As as) {
  if (operand.index >= kernel.registers.size()) return Misfit::dangling;
  if (!place.registers_allowed) return Misfit::kind;
  if (operand.negated && !place.negation_allowed) return Misfit::negation;
  if (operand.value != 0 && !selects_any(place.text, selector_of(operand))) return Misfit::selector;
  Type type = kernel.registers[operand.index].type;
  const bool predicate = type.kind == TypeKind::predicate;
  if (as == As::bits && predicate && place.type.kind != TypeKind::predicate) return Misfit::none;
  if (as == As::bits && !predicate) type.kind = TypeKind::bits;
  return register_fits(place, type) ? Misfit::none : Misfit::type;
}

bool in_range(const OperandSpec& place, std::int64_t value) {
  // The number of a barrier, alone of type .s32, is cut to 32 bits first.
  if (place.registers_allowed && place.type == s32) value = static_cast<std::int32_t>(value);
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
      if (as == As::bits && place.direction == OperandSpec::Direction::in) return Misfit::none;
      return literal_misfit(place, operand);
    case Kind::symbol:  // a name alone is no literal, a name and a number is one
      return operand.value != 0 && place.registers_allowed && place.literal_allowed &&
                     !place.type.is_float() && place.type.kind != TypeKind::predicate
                 ? Misfit::none
                 : Misfit::kind;
    case Kind::sink: {
      const bool element_of_result = place.count > 0 && place.direction == OperandSpec::Direction::out;
      return place.sink_allowed || element_of_result ? Misfit::none : Misfit::sink;
    }
    default:
      return Misfit::kind;
  }
}

// `{_}` and `{_, _}` leave ptxas no register to take the type from.
bool untyped(std::span<const Operand> elements) {
  return std::all_of(elements.begin(), elements.end(), [](const Operand& e) { return e.kind == Kind::sink; });
}

// What ptxas takes an element for. Of literals it knows the class, and of a decimal that it has 64 bits.
struct ElementType {
  enum class Class : std::uint8_t { any, bits, integer, floating, predicate };
  Class cls = Class::any;
  int bits = 0;  // 0: any

  bool conflicts(const ElementType& other) const {
    if (bits != 0 && other.bits != 0 && bits != other.bits) return true;
    const auto typed = [](Class c) { return c != Class::any && c != Class::bits; };
    return typed(cls) && typed(other.cls) && cls != other.cls;
  }
};

ElementType element_type(const Kernel& kernel, const Operand& element) {
  using Class = ElementType::Class;
  switch (element.kind) {
    case Kind::reg: {
      const Type& type = kernel.registers[element.index].type;
      if (type.kind == TypeKind::predicate) return {.cls = Class::predicate, .bits = 32};
      const bool scalar_float = type.is_float() && type.lanes == 1;
      return {.cls = scalar_float        ? Class::floating
                     : type.is_integer() ? Class::integer
                                         : Class::bits,
              .bits = type.bits};
    }
    case Kind::integer:
      return {.cls = Class::integer};
    case Kind::f32:
    case Kind::f64:
      return {.cls = Class::floating};
    default:
      return {};
  }
}

// ptxas compares neighbours.
bool mixed(const Kernel& kernel, std::span<const Operand> elements) {
  for (std::size_t i = 1; i < elements.size(); ++i)
    if (element_type(kernel, elements[i - 1]).conflicts(element_type(kernel, elements[i]))) return true;
  return false;
}

// The elements of a vector are taken as declared only where they are all of one class.
As vector_type(const Kernel& kernel, std::span<const Operand> elements) {
  using Class = ElementType::Class;
  Class common = Class::any;
  for (const Operand& element : elements) {
    if (element.kind == Kind::reg && element.index >= kernel.registers.size()) continue;
    const Class cls = element_type(kernel, element).cls;
    if (cls == Class::bits || (cls != Class::any && common != Class::any && cls != common)) return As::bits;
    if (cls != Class::any) common = cls;
  }
  return As::declared;
}

Mismatch vector_mismatch(const Kernel& kernel, const OperandSpec& place, const Operand& operand) {
  if (operand.kind != Kind::vector || operand.count != std::max(place.count, 1))
    return {.why = Misfit::length};
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
  const bool wide = space.empty() || space == "global" || is_opaque(space);
  return type.bits == 64 || (type.bits < 64 && !wide);
}

Misfit address_misfit(const Kernel& kernel, const OperandSpec& place, const Operand& operand) {
  // An opaque variable is named, or 64 bits hold its address; nothing is added to it.
  if (is_opaque(place.space) && operand.value != 0) return Misfit::address_offset;
  switch (operand.kind) {
    case Kind::address:
      if (operand.index >= kernel.registers.size()) return Misfit::dangling;
      return holds_address(kernel.registers[operand.index].type, place.space) ? Misfit::none
                                                                              : Misfit::address_type;
    case Kind::address_symbol:
      if (operand.index >= kernel.symbols.size()) return Misfit::dangling;
      return space_fits(place.space, kernel.symbols[operand.index].space) ? Misfit::none : Misfit::space;
    case Kind::address_absolute:
      return place.space == "local" ? Misfit::none : Misfit::address_offset;
    default:
      return Misfit::kind;
  }
}

// A label is a place in the code or, where the place gives a name for the oracle, a list of such places.
Misfit label_misfit(const Kernel& kernel, const OperandSpec& place, const Operand& operand) {
  if (operand.kind != Kind::label) return Misfit::kind;
  if (operand.index >= kernel.labels.size()) return Misfit::dangling;
  const bool list = std::any_of(kernel.targets.begin(), kernel.targets.end(), [&](const Targets& targets) {
    return targets.kind == Targets::Kind::branch && targets.label == operand.index;
  });
  return list == !place.text.empty() ? Misfit::none : Misfit::kind;
}

}  // namespace

bool register_fits(const OperandSpec& place, const Type& given) {
  const Type& wanted = place.type;
  const bool untyped_only = place.exact || (wanted.is_integer() && wanted.lanes > 1);
  if (untyped_only && given.kind != TypeKind::bits) return false;
  if (wanted.kind == TypeKind::predicate || given.kind == TypeKind::predicate)
    return wanted.kind == given.kind;
  if (given.bits < wanted.bits || (given.bits > wanted.bits && !place.wider_allowed)) return false;
  if (given.kind == TypeKind::bits || wanted.kind == TypeKind::bits) return true;
  if (wanted.is_integer()) return given.is_integer() || given.lanes > 1;
  return given == wanted;
}

bool is_opaque(std::string_view space) {
  return space == "texref" || space == "samplerref" || space == "surfref";
}

bool space_fits(std::string_view wanted, Space space) {
  if (is_opaque(wanted)) return space == Space::global || space == Space::param;
  switch (space) {
    case Space::generic:
      return wanted.empty();
    case Space::global:
      return wanted.empty() || wanted == "global";
    case Space::shared:
      return wanted.empty() || wanted.starts_with("shared");
    case Space::local:
      return wanted.empty() || wanted == "local";
    case Space::constant:
      return wanted == "const";
    case Space::param:
    case Space::function:
      return wanted.starts_with("param");
    case Space::code:
      break;
  }
  return false;
}

Mismatch find_mismatch(const Kernel& kernel, const OperandSpec& place, const Operand& operand) {
  switch (place.kind) {
    case OperandSpec::Kind::value:
      if (place.count > 0 || (place.braces_allowed && operand.kind == Kind::vector))
        return vector_mismatch(kernel, place, operand);
      if (operand.kind == Kind::vector) return {.why = Misfit::length};
      return {.why = scalar_misfit(kernel, place, operand)};
    case OperandSpec::Kind::address:
      return {.why = address_misfit(kernel, place, operand)};
    case OperandSpec::Kind::symbol:
      if (operand.kind != Kind::symbol) return {.why = Misfit::kind};
      if (operand.index >= kernel.symbols.size()) return {.why = Misfit::dangling};
      if (place.space.empty() || space_fits(place.space, kernel.symbols[operand.index].space)) return {};
      return {.why = Misfit::space};
    case OperandSpec::Kind::label:
      return {.why = label_misfit(kernel, place, operand)};
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
