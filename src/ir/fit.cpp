// SPDX-License-Identifier: Apache-2.0
#include "ir/fit.hpp"

#include <algorithm>
#include <bit>

#include "ir/fit_address.hpp"
#include "ir/naming.hpp"

namespace ptxloom::ir {
namespace {

using Kind = Operand::Kind;
using Direction = OperandSpec::Direction;

// How an operand or element is checked: by itself; as an element of a vector with one type; or as one of a
// vector with several (`.u32` and `.s32`, a register and a literal), which counts as a vector of bits, where
// only the size of registers matters and predicates and literals are hardly checked; `wide` if they are wider
// than the type.
enum class As : std::uint8_t { scalar, element, bits, wide };

// "b[0-3]|h[0-1]": words in which brackets stand for one character of a range.
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

// ptxas takes a register of `.f16x2` for 32 bits of any type, predicates included, and for wider ones where
// the place accepts wider registers.
bool takes_pair(const OperandSpec& place, const Type& given) {
  if (given != f16x2 || !place.pairs) return false;
  return place.type.bits == given.bits || place.type.kind == TypeKind::predicate ||
         (place.wider_allowed && place.type.bits < given.bits);
}

// Whether a register declared as `given` is valid where `place` requires its type.
inline bool register_fits(const OperandSpec& place, const Type& given) {
  const Type& wanted = place.type;
  if (given.kind == TypeKind::bits && given.bits == wanted.bits) return wanted.kind != TypeKind::predicate;
  const bool untyped_only = place.exact || (wanted.is_integer() && wanted.lanes > 1);
  if (untyped_only && given.kind != TypeKind::bits) return place.exact && given == wanted;
  if (wanted.kind == TypeKind::predicate || given.kind == TypeKind::predicate)
    return wanted.kind == given.kind;
  if (given.bits < wanted.bits || (given.bits > wanted.bits && !place.wider_allowed)) return false;
  if (given.bits > wanted.bits && place.wider_integers && (given.bits > 64 || given.is_float())) return false;
  if (given == f16x2 && wanted.kind == TypeKind::bits) return place.pairs;
  if (given.kind == TypeKind::bits || wanted.kind == TypeKind::bits) return true;
  if (wanted.is_integer()) return given.is_integer() || (given == f16x2 && place.pairs);
  return given == wanted;
}

// A register used with its declared type, which the place accepts: the case of most operands and elements.
inline bool fits_as_declared(const Kernel& kernel, const OperandSpec& place, const Operand& operand) {
  return operand.kind == Kind::reg && operand.value == 0 && !operand.negated && place.registers_allowed &&
         operand.index < kernel.registers.size() &&
         register_fits(place, kernel.registers[operand.index].type);
}

bool is_float_of_registers(const Type& type) { return type == f16 || type == f32 || type == f64; }

Misfit register_misfit(const Kernel& kernel, const OperandSpec& place, const Operand& operand, As as) {
  if (fits_as_declared(kernel, place, operand)) return Misfit::none;
  if (operand.index >= kernel.registers.size()) return Misfit::dangling;
  if (!place.registers_allowed) return Misfit::kind;
  if (operand.value != 0 && !selects_any(place.text, selector_of(operand))) return Misfit::selector;
  const Type& declared = kernel.registers[operand.index].type;
  Type type = declared;
  const bool bits = as == As::bits || as == As::wide;
  if (type.kind == TypeKind::predicate && place.type.kind != TypeKind::predicate &&
      (bits || place.any_class) && !place.needed)
    return operand.negated && place.direction == Direction::out ? Misfit::negation : Misfit::undocumented;
  if (operand.negated && !place.negation_allowed) return Misfit::negation;
  if (!bits && !operand.negated && !register_fits(place, declared) && takes_pair(place, declared))
    return Misfit::undocumented;
  if (place.whole_numbers && !place.exact && declared.is_float() && declared.lanes == 1) return Misfit::type;
  const bool integer_for_float =
      as == As::element && place.loose && type.is_integer() && is_float_of_registers(place.type);
  if (bits || integer_for_float) type.kind = TypeKind::bits;
  if (!register_fits(place, type)) return Misfit::type;
  const bool as_declared = type.kind == declared.kind || register_fits(place, declared);
  return as_declared ? Misfit::none : Misfit::undocumented;
}

bool in_range(const OperandSpec& place, std::int64_t value) {
  // The number of a barrier, the only operand of type .s32, is truncated to 32 bits first.
  if (place.registers_allowed && place.type == s32) value = static_cast<std::int32_t>(value);
  if (place.range) {
    const auto [first, last] = *place.range;
    const auto number = [](std::int64_t n) { return static_cast<std::uint64_t>(n); };
    const bool within = last < first ? number(first) <= number(value) && number(value) <= number(last)
                                     : first <= value && value <= last;
    if (!within || (number(value) - number(first)) % number(place.step) != 0) return false;
  }
  return place.choices.empty() ||
         std::find(place.choices.begin(), place.choices.end(), value) != place.choices.end();
}

// For decimals the lower bound is excluded: (0, 1].
bool in_decimal_range(const OperandSpec& place, const Operand& operand) {
  if (!place.range || !place.type.is_float()) return true;
  const double value = operand.kind == Kind::f32
                           ? std::bit_cast<float>(static_cast<std::uint32_t>(operand.value))
                           : std::bit_cast<double>(operand.value);
  return value > static_cast<double>(place.range->first) && value <= static_cast<double>(place.range->second);
}

Misfit literal_misfit(const OperandSpec& place, const Operand& operand) {
  if (!place.literal_allowed) return Misfit::kind;
  const Type& type = place.type;
  switch (operand.kind) {
    case Kind::integer:
      if (type.is_float() || place.any_class) return Misfit::literal;
      return in_range(place, operand.value) ? Misfit::none : Misfit::range;
    case Kind::f32:
      if (!in_decimal_range(place, operand)) return Misfit::range;
      return type.is_float() || (type.kind == TypeKind::bits && type.bits == 32) ? Misfit::none
                                                                                 : Misfit::literal;
    default:
      if (!in_decimal_range(place, operand)) return Misfit::range;
      return type.is_float() || (type.kind == TypeKind::bits && type.bits == 64) ? Misfit::none
                                                                                 : Misfit::literal;
  }
}

// A literal as an element. It fits in a vector of bits, except that a decimal does not become an f16, nor a
// `.b` type narrower than the adjacent registers. A vector of only literals has their type, which not every
// operand accepts: integers for `.b`, decimals for `.f32`.
Misfit element_misfit(const OperandSpec& place, const Operand& literal, As as) {
  if (place.direction != Direction::in || place.registers_only) return Misfit::kind;
  const bool integer = literal.kind == Kind::integer;
  if (!integer && place.whole_numbers) return Misfit::literal;
  if (place.needed && (literal.kind == Kind::f64 || literal.decimal)) return Misfit::literal;
  if (integer && place.range && !in_range(place, literal.value)) return Misfit::range;
  if (as != As::element) {
    const bool narrow = place.type == f16 || (as == As::wide && place.type.kind == TypeKind::bits);
    return narrow && !integer ? Misfit::literal : Misfit::none;
  }
  if (place.exact && place.type.kind == TypeKind::bits) return Misfit::literal;
  if (integer && place.loose && place.type == f64) return Misfit::none;
  if (const Misfit why = literal_misfit(place, literal); why != Misfit::none || place.loose) return why;
  if (integer) return place.type.is_integer() ? Misfit::none : Misfit::literal;
  return place.type.bits == (literal.kind == Kind::f32 ? 32 : 64) ? Misfit::none : Misfit::literal;
}

Misfit scalar_misfit(const Kernel& kernel, const OperandSpec& place, const Operand& operand,
                     As as = As::scalar) {
  switch (operand.kind) {
    case Kind::reg:
      return register_misfit(kernel, place, operand, as);
    case Kind::integer:
    case Kind::f32:
    case Kind::f64:
      return as == As::scalar ? literal_misfit(place, operand) : element_misfit(place, operand, as);
    case Kind::symbol:  // a name alone is not a literal; a name and a number is
      return (operand.value != 0 || operand.plus_zero) && operand.count == 0 && as == As::scalar &&
                     place.variable_allowed
                 ? Misfit::none
                 : Misfit::kind;
    case Kind::sink: {
      const bool element_of_result = as != As::scalar && place.direction == Direction::out && !place.needed;
      return place.sink_allowed || element_of_result ? Misfit::none : Misfit::sink;
    }
    default:
      return Misfit::kind;
  }
}

// `{_}` and `{_, _}` give ptxas no register to infer the type from.
bool untyped(std::span<const Operand> elements) {
  return std::all_of(elements.begin(), elements.end(), [](const Operand& e) { return e.kind == Kind::sink; });
}

// The type that ptxas assigns to an element. For literals it knows only the class, and that a decimal has 64
// bits.
struct ElementType {
  enum class Class : std::uint8_t { any, bits, integer, floating, pair, predicate };
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
      if (type == f16x2) return {.cls = Class::pair, .bits = type.bits};
      if (type.is_float() && type.lanes == 1) return {.cls = Class::floating, .bits = type.bits};
      return {.cls = type.is_integer() ? Class::integer : Class::bits, .bits = type.bits};
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

// ptxas compares adjacent elements, except the index into an array of textures with the coordinates after it.
bool mixed(const Kernel& kernel, std::span<const Operand> elements, std::size_t index) {
  for (std::size_t i = 1; i < elements.size(); ++i) {
    const bool coordinates = i != index && i - 1 != index;
    if (coordinates && element_type(kernel, elements[i - 1]).conflicts(element_type(kernel, elements[i])))
      return true;
  }
  return false;
}

bool is_index(const Kernel& kernel, const Operand& element) {
  if (element.kind != Kind::reg) return element.kind == Kind::integer;
  const Type& type = kernel.registers[element.index].type;
  return type.bits == 32 && (type.is_integer() || type.kind == TypeKind::bits);
}

// For a register, its declared type; decimals are f64, and integers have no type that a register can have.
Type type_of(const Kernel& kernel, const Operand& element) {
  if (element.kind == Kind::reg) return kernel.registers[element.index].type;
  return element.kind == Kind::f32 ? f32 : element.kind == Kind::f64 ? f64 : Type{};
}

// Whether elements have the same type; `_` matches any.
bool same_type(const Kernel& kernel, const Operand& a, const Operand& b) {
  if (a.kind == Kind::sink || b.kind == Kind::sink) return true;
  if (a.kind != Kind::reg && b.kind != Kind::reg) return a.kind == b.kind;
  return type_of(kernel, a) == type_of(kernel, b);
}

As vector_type(const Kernel& kernel, const OperandSpec& place, std::span<const Operand> elements) {
  const auto sink = [](const Operand& element) { return element.kind == Kind::sink; };
  const auto typed = std::find_if_not(elements.begin(), elements.end(), sink);
  if (std::all_of(typed, elements.end(), [&](const Operand& e) { return same_type(kernel, *typed, e); }))
    return As::element;
  const auto wider = [&](const Operand& element) {
    return element.kind == Kind::reg && kernel.registers[element.index].type.bits > place.type.bits;
  };
  return std::any_of(elements.begin(), elements.end(), wider) ? As::wide : As::bits;
}

// Whether all are plain registers of one type, which most vectors are: then they fit if the first does.
bool alike(const Kernel& kernel, std::span<const Operand> elements) {
  const Type* first = nullptr;
  for (const Operand& element : elements) {
    if (element.kind != Kind::reg || element.negated || element.value != 0) return false;
    if (element.index >= kernel.registers.size()) return false;
    const Type& type = kernel.registers[element.index].type;
    if (first != nullptr && type != *first) return false;
    first = &type;
  }
  return first != nullptr;
}

// Checks elements against their places, or against the single place for all.
Mismatch elements_mismatch(const Kernel& kernel, std::span<const OperandSpec> places,
                           std::span<const Operand> elements) {
  if (places.size() == 1 && places[0].index == 0 && alike(kernel, elements)) {
    const Misfit why = register_misfit(kernel, places[0], elements[0], As::element);
    return {.why = why, .element = static_cast<std::int16_t>(fits(why) ? -1 : 0)};
  }
  const auto dangling = [&](const Operand& element) {
    return element.kind == Kind::reg && element.index >= kernel.registers.size();
  };
  if (std::any_of(elements.begin(), elements.end(), dangling)) return {.why = Misfit::dangling};
  const As as = vector_type(kernel, places[0], elements);
  const std::size_t index = static_cast<std::size_t>(places[0].index) - 1;  // without one, the largest index
  Misfit worst = Misfit::none;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const Misfit why = i == index
                           ? (is_index(kernel, elements[i]) ? Misfit::none : Misfit::type)
                           : scalar_misfit(kernel, places[std::min(i, places.size() - 1)], elements[i], as);
    if (!fits(why)) return {.why = why, .element = static_cast<std::int16_t>(i)};
    worst = std::max(worst, why);
  }
  if (elements.empty() || untyped(elements)) return {.why = Misfit::untyped};
  return {.why = mixed(kernel, elements, index) ? Misfit::mixed : worst};
}

// The number of registers in braces that may stand for a scalar; of two, ptxas uses the first.
int in_braces(const OperandSpec& place) {
  return place.needed || !place.registers_allowed ? 0 : place.braces;
}

Mismatch vector_mismatch(const Kernel& kernel, const OperandSpec& place, const Operand& operand) {
  if (operand.kind != Kind::vector) return {.why = Misfit::length};
  if (place.count > 0 ? operand.count != place.count : operand.count > in_braces(place))
    return {.why = Misfit::length};
  if (operand.index > kernel.operands.size() || operand.count > kernel.operands.size() - operand.index)
    return {.why = Misfit::dangling};
  Mismatch found = elements_mismatch(kernel, {&place, 1}, kernel.elements_of(operand));
  if (place.count == 0 && !found) found.why = Misfit::undocumented;  // braces around a scalar
  return found;
}

}  // namespace

Mismatch find_mismatch(const Kernel& kernel, const OperandSpec& place, const Operand& operand) {
  switch (place.kind) {
    case OperandSpec::Kind::value:
      if (place.count > 0 || operand.kind == Kind::vector) return vector_mismatch(kernel, place, operand);
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
  Misfit worst = Misfit::none;
  for (std::size_t i = 0, count = 1; i < places.size(); i += count) {
    for (count = 1; i + count < places.size() && places[i + count].continues;) ++count;
    const bool scalar = places[i].kind == OperandSpec::Kind::value && places[i].count == 0 && count == 1;
    if (scalar && fits_as_declared(kernel, places[i], operands[i])) continue;
    Mismatch found = count == 1
                         ? find_mismatch(kernel, places[i], operands[i])
                         : elements_mismatch(kernel, places.subspan(i, count), operands.subspan(i, count));
    worst = std::max(worst, found.why);
    if (!found) continue;
    found.operand = static_cast<std::uint32_t>(i);
    if (count > 1) {  // its elements are separate operands
      found.operand += static_cast<std::uint32_t>(std::max<int>(found.element, 0));
      found.element = -1;
    }
    return found;
  }
  return {.why = worst};
}

bool operands_fit(const Kernel& kernel, std::span<const OperandSpec> places,
                  std::span<const Operand> operands) {
  return places.size() == operands.size() && find_mismatch(kernel, places, operands).why == Misfit::none;
}

}  // namespace ptxloom::ir
