// SPDX-License-Identifier: Apache-2.0
#include "ir/fit_address.hpp"

#include <algorithm>

namespace ptxloom::ir {
namespace {

// Addresses of tensor memory have 32 bits, generic and global ones 64. For the other spaces, which are small,
// ptxas also accepts narrower registers, though in some instructions none of 16 bits. It widens such a base,
// also of a generic or global address, where most instructions refuse 32 bits. It does not look at the class
// of what should be the address of a tensor map.
Misfit base_misfit(const Type& type, const OperandSpec& place) {
  const std::string_view space = place.space;
  if (place.variables == "function") return Misfit::address_type;  // arguments and results of calls are named
  if (type.kind == TypeKind::predicate) return Misfit::address_type;
  if (space == "tensormap" && place.short_base && (type.bits != 64 || type.is_float()))
    return Misfit::undocumented;
  if (type.is_float()) return Misfit::address_type;
  if (place.exact && type.kind != TypeKind::bits) return Misfit::address_type;
  if (space == "tmem") return type.bits == 32 ? Misfit::none : Misfit::address_type;
  if (type.bits == 64) return Misfit::none;
  if (type.bits > 64 || is_opaque(space)) return Misfit::address_type;
  if (type.bits < 32 && place.long_base) return Misfit::address_type;
  const bool wide = space.empty() || space == "global";
  if (!wide) return Misfit::none;
  return type.bits < 32 || place.short_base ? Misfit::undocumented : Misfit::address_type;
}

}  // namespace

Misfit address_misfit(const Kernel& kernel, const OperandSpec& place, const Operand& operand) {
  // An opaque variable is named, or its address is in a 64-bit register; it takes no offset.
  if (is_opaque(place.space) && operand.value != 0) return Misfit::address_offset;
  switch (operand.kind) {
    case Operand::Kind::address:
      if (operand.index >= kernel.registers.size()) return Misfit::dangling;
      if (const Misfit why = base_misfit(kernel.registers[operand.index].type, place);
          why != Misfit::address_type)
        return why;
      return place.any_class ? Misfit::undocumented : Misfit::address_type;
    case Operand::Kind::address_symbol:
      if (operand.index >= kernel.symbols.size()) return Misfit::dangling;
      if (space_fits(place.variables, kernel.symbols[operand.index].space)) return Misfit::none;
      return place.any_class ? Misfit::undocumented : Misfit::space;
    case Operand::Kind::address_absolute:
      if (place.space == "local") return Misfit::none;
      return place.any_class ? Misfit::undocumented : Misfit::address_offset;
    default:
      return Misfit::kind;
  }
}

// A label is a position in the code or, if the place gives a name for the oracle, a list of such positions.
Misfit label_misfit(const Kernel& kernel, const OperandSpec& place, const Operand& operand) {
  if (operand.kind != Operand::Kind::label) return Misfit::kind;
  if (operand.index >= kernel.labels.size()) return Misfit::dangling;
  const bool list = std::any_of(kernel.targets.begin(), kernel.targets.end(), [&](const Targets& targets) {
    return targets.kind == Targets::Kind::branch && targets.label == operand.index;
  });
  return list == !place.text.empty() ? Misfit::none : Misfit::kind;
}

bool is_opaque(std::string_view space) {
  return space == "texref" || space == "samplerref" || space == "surfref" || space == "tensormap";
}

bool space_fits(std::string_view wanted, Space space) {
  if (wanted == "narrow") return space != Space::global;  // its addresses fit in 32 bits
  if (wanted == "tensormap") return space == Space::global;
  if (is_opaque(wanted)) return space == Space::global || space == Space::param;
  switch (space) {
    case Space::generic:
      return wanted.empty();
    case Space::global:
      return wanted.empty() || wanted == "global" || wanted == "unified";
    case Space::shared:
      return wanted.empty() || wanted.starts_with("shared");
    case Space::local:
      return wanted.empty() || wanted == "local";
    case Space::constant:
      return wanted == "const";
    case Space::param:
      return wanted.starts_with("param") || wanted == "entry";
    case Space::function:
      return wanted.starts_with("param") || wanted == "function";
    case Space::code:
      return wanted == "code";
  }
  return false;
}

}  // namespace ptxloom::ir
