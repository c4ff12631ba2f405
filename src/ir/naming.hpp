// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "ptxloom/ir.hpp"

// The spelling of registers and operands, in PTX and in diagnostics. A register without a name belongs to a
// class by size, with f32 and f64 separate. It is written as the prefix of the class and its number (`%r12`),
// and the class is declared as a whole (`.reg .b32 %r<13>;`).
namespace ptxloom::ir {

struct RegisterClass {
  std::string_view prefix;  ///< "%r"
  Type type;                ///< as declared
};

inline constexpr std::array<RegisterClass, 8> kRegisterClasses{{{"%p", pred},
                                                                {"%b", b8},
                                                                {"%h", b16},
                                                                {"%r", b32},
                                                                {"%f", f32},
                                                                {"%rd", b64},
                                                                {"%fd", f64},
                                                                {"%q", b128}}};

/// Index into kRegisterClasses of a register's type.
constexpr std::size_t register_class(const Type& type) {
  if (type.kind == TypeKind::predicate) return 0;
  switch (type.bits) {
    case 8:
      return 1;
    case 16:
      return 2;
    case 32:
      return type == f32 ? 4 : 3;
    case 64:
      return type == f64 ? 6 : 5;
    default:
      return 7;
  }
}

/// Whether PTX allows the name.
bool is_identifier(std::string_view name);

/// "%r12", or the name that the register was given.
std::string name_of(const RegisterDecl& decl);

/// The selector of a register in a video instruction ("b0", "h10"): up to eight letters, the first lowest.
std::int64_t pack_selector(std::string_view letters);
std::string selector_of(const Operand& reg);

/// An operand as PTX writes it: "{%r1, %r2}", "0f3F800000", "%rd4+16" (without the brackets of an address). A
/// dangling reference, which only broken IR has, prints as "<...>".
std::string text_of(const Kernel& kernel, const Operand& operand);

}  // namespace ptxloom::ir
