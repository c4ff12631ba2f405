// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "ir/naming.hpp"
#include "ptxloom/builder.hpp"

// The operand checks of a short name, with its caller: `require` refuses the first operand that would be
// reinterpreted. All errors of the builder are created here, so that each names the kernel, the operation and
// the caller's line.
namespace ptxloom {

/// "kernel.cpp:12": the file name without folders.
std::string place_of(const Caller& at);

/// The variant as an instruction stores it. The module owns its specs, so copying their variants costs no
/// atomic operation; a variant of other specs keeps those alive.
Variant held(const Variant& variant, const Specs& specs);

/// The type with which the registers of values of a type are declared. No instruction computes on 8 bits:
/// such values are held in 16. A pair of e2m1 is one of 8 bits, because cvt takes no other register.
inline const Type& register_type(const Type& type) {
  const bool pair = type.bits == 8 && type.lanes > 1, narrow = type.bits < 16 && type != pred;
  return ir::kRegisterClasses[ir::register_class(pair ? b8 : narrow ? b16 : type)].type;
}

struct BuilderCore::Operation {
  /// Whether the result depends on the sign of integers.
  enum class Signs { matter, alike };

  std::string_view name;     ///< "add"
  std::string_view subject;  ///< "kernel scale_add"
  std::uint32_t builder;
  Caller at;

  struct Operand {
    std::string_view name;  ///< as in the header: "b"
    const Arg& arg;
  };

  /// The type of the first register, of those that have one (not `.b`) if any do; else of the first literal
  /// that has one.
  Type type_of(std::initializer_list<Arg> args) const;
  /// Each operand must have this type, or be a literal that fits it.
  void require(Type type, std::initializer_list<Operand> operands, Signs signs = Signs::matter) const;
  void require_predicate(const Reg& predicate) const;
  /// A std::function that is given as a body must not be empty.
  template <class Function>
  void require_body(const Function& body) const {
    if (!body) refuse("empty-body", "its body is an empty function", "pass a lambda that emits the body");
  }
  void require_own(std::string_view operand, std::uint32_t of) const;
  /// Throws Error(usage): "file:line: kernel k: add: <what>".
  [[noreturn]] void refuse(const char* code, const std::string& what, std::string hint) const;

 private:
  void require_register(Type type, const Operand& operand, Signs signs) const;
  void require_integer(Type type, const Operand& operand, Signs signs) const;
  void require_decimal(Type type, const Operand& operand) const;
};

}  // namespace ptxloom
