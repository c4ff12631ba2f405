// SPDX-License-Identifier: Apache-2.0
#include "check/operands.hpp"

#include <string>

#include "ir/naming.hpp"
#include "ptxloom/check.hpp"

namespace ptxloom {
namespace check_rules {
namespace {

using ir::Misfit;

// The register declarations that a type accepts.
std::string registers_for(const OperandSpec& place) {
  const Type& type = place.type;
  if (type.kind == TypeKind::predicate) return "a predicate register";
  const std::string bits = std::to_string(type.bits);
  std::string text =
      type.kind == TypeKind::bits ? "a register of " + bits + " bits" : "a .b" + bits + " register";
  if (type.is_integer() && type.lanes == 1) text += " or an integer register of " + bits + " bits";
  if (type.is_float()) text = "a .b" + bits + " or ." + std::string(type.name) + " register";
  return place.wider_allowed ? text + ", or a wider register" : text;
}

std::string literals_for(const Type& type) {
  if (type.is_float()) return "a literal with a decimal point (1.0) or its bits (0f3F800000)";
  if (type.kind == TypeKind::bits && type.bits == 32) return "an integer or 0f literal";
  if (type.kind == TypeKind::bits && type.bits == 64) return "an integer or 0d literal";
  return "an integer literal";
}

std::string given_register(const ir::Kernel& kernel, std::uint32_t id) {
  const ir::RegisterDecl& decl = kernel.registers[id];
  return ir::name_of(decl) + ", a ." + std::string(decl.type.name) + " register";
}

std::string where(std::string_view space) {
  return space == "narrow" ? "outside .global, whose address has 32 bits" : "in ." + std::string(space);
}

std::string space_name(std::string_view space) {
  return space.empty() ? "generic" : "." + std::string(space == "unified" ? "global" : space);
}

std::string address_register_for(const OperandSpec& place) {
  const std::string_view space = place.space;
  if (place.exact) return "a .b register of 32 bits";
  if (space == "tmem") return "an integer or .b register of 32 bits";
  const bool wide = space.empty() || space == "global";
  return wide ? "an integer or .b register of 64 bits" : "an integer or .b register of 32 or 64 bits";
}

struct Words {
  std::string_view code;
  std::string text;  // continues "operand A "
};

Words words_for(const ir::Kernel& kernel, const OperandSpec& place, const ir::Operand& operand, Misfit why) {
  const std::string given = ir::text_of(kernel, operand);
  switch (why) {
    case Misfit::type:
      return {"operand-type",
              "is " + given_register(kernel, operand.index) + ", but takes " + registers_for(place)};
    case Misfit::literal:
      return {"operand-literal", "is the literal " + given + ", but takes " + literals_for(place.type)};
    case Misfit::range:
      return {"operand-range", "is " + given + ", but takes " + place.describe()};
    case Misfit::sink:
      return {"operand-sink", "is _, but a value is needed: it takes " + place.describe()};
    case Misfit::negation:
      return {"operand-negation", "is " + given + ", but cannot be negated with !"};
    case Misfit::selector:
      return {"operand-selector", "is " + given + ", but takes " + place.describe()};
    case Misfit::length:
      return {"operand-length", "is " + given + ", but takes " + place.describe()};
    case Misfit::untyped:
      return {"operand-untyped", "is " + given + ", whose type is unknown: use a register"};
    case Misfit::space:
      if (place.kind == OperandSpec::Kind::symbol)
        return {"address-space", "is " + given + ", but takes a variable " + where(place.space)};
      if (place.variables == "none") return {"address-space", "is [" + given + "], but takes a register"};
      return {"address-space", "is [" + given + "], but takes an address in " + space_name(place.variables) +
                                   " state space, where " + kernel.symbols[operand.index].name + " is not"};
    case Misfit::address_type:
      return {"address-type", "is [" + given + "], whose base is " + given_register(kernel, operand.index) +
                                  ", but takes " + address_register_for(place)};
    case Misfit::mixed:
      return {"operand-mixed",
              "is " + given + ", whose elements differ in size, or are both integers and floats"};
    case Misfit::address_offset:
      return {"address-offset", "is [" + given + "], but takes a register, or a variable plus an offset"};
    case Misfit::dangling:
      return {"dangling-operand", "refers to " + given + ", which the kernel does not have"};
    case Misfit::kind:
    case Misfit::undocumented:
    case Misfit::none:
      break;
  }
  return {"operand-kind", "is " + given + ", but takes " + place.describe()};
}

}  // namespace

Diagnostic describe(const ir::Kernel& kernel, const OperandSpec& place, const ir::Operand& operand,
                    const ir::Mismatch& mismatch) {
  const bool element = mismatch.element >= 0;
  const ir::Operand& culprit =
      element ? kernel.elements_of(operand)[static_cast<std::size_t>(mismatch.element)] : operand;
  const Words words = words_for(kernel, place, culprit, mismatch.why);
  std::string message = "operand " + place.name;
  if (element) message += "[" + std::to_string(mismatch.element) + "]";
  return {.code = std::string(words.code), .message = message + " " + words.text, .hint = {}};
}

Diagnostic wrong_count(Variant variant, std::size_t given) {
  std::string names;
  for (const OperandSpec& place : variant.operands()) names += (names.empty() ? "" : ", ") + place.name;
  const std::size_t wanted = variant.operands().size();
  return {.code = "operand-count",
          .message = std::to_string(given) + " operands given, but it takes " + std::to_string(wanted) +
                     (wanted == 0 ? "" : ": " + names),
          .hint = {}};
}

Diagnostic undocumented() {
  return {.severity = Severity::warning,
          .code = "undocumented",
          .message = "ptxas accepts it, but the PTX manual does not document it",
          .hint = "do not rely on it: another release of ptxas may refuse it"};
}

}  // namespace check_rules

std::optional<Diagnostic> check_operands(const ir::Kernel& kernel, Variant variant,
                                         std::span<const ir::Operand> operands) {
  const std::span<const OperandSpec> places = variant.operands();
  if (places.size() != operands.size()) return check_rules::wrong_count(variant, operands.size());
  const ir::Mismatch mismatch = ir::find_mismatch(kernel, places, operands);
  if (mismatch.why == ir::Misfit::undocumented) return check_rules::undocumented();
  if (!mismatch) return std::nullopt;
  return check_rules::describe(kernel, places[mismatch.operand], operands[mismatch.operand], mismatch);
}

}  // namespace ptxloom
