// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <span>
#include <string>

#include "check/rules.hpp"
#include "ir/storage.hpp"

// Types of declarations. Of types that cannot be declared in PTX, ptxas rejects some and crashes on others
// (.e4m3): these must never reach a linker, which would take the process down. The reader accepts no such
// types; this check is for modules that a program builds.
namespace ptxloom::check_rules {
namespace {

class StorageCheck {
 public:
  explicit StorageCheck(Diagnostics& out) : out_(out) {}

  // Textures, samplers and surfaces are variables of a module, in .global.
  void variable(const std::string& where, const ir::Variable& variable, bool of_module) {
    const bool for_call = variable.space == ir::Space::function;
    const bool array = variable.count != 1 || variable.array;
    const bool placed = !ir::is_opaque(variable.type) || (of_module && variable.space == ir::Space::global);
    if (ir::is_declarable(variable.type) && placed && !(for_call && is_odd(variable.type, array))) return;
    refuse(where + "variable " + variable.name, variable.type);
  }
  // Samplers that are separate from textures.
  void sampler(const std::string& what, const Type& type, std::span<const std::string> modes) {
    constexpr std::string_view kMode = "texmode_independent";
    if (type.name != "samplerref" || std::ranges::find(modes, kMode) != modes.end()) return;
    out_.push_back(
        {.code = "target-option",
         .message = what + " is a .samplerref, which needs the .target option " + std::string(kMode),
         .hint = "name the option in .target, or use the sampler of the texture"});
  }
  void parameter(const std::string& where, const ir::Parameter& parameter, bool entry) {
    const bool array = parameter.count != 0 || parameter.unsized;
    const bool legal = parameter.reg
                           ? ir::is_register_type(parameter.type)
                           : ir::is_declarable(parameter.type) && !is_odd(parameter.type, array, entry);
    if (!legal) refuse(where + "parameter " + parameter.name, parameter.type);
  }
  void registers(const std::string& where, const ir::Function& function) {
    const Type* good = nullptr;
    for (const ir::RegisterDecl& decl : function.registers) {
      if (good != nullptr && decl.type == *good) continue;
      if (ir::is_register_type(decl.type)) {
        good = &decl.type;
      } else {
        refuse(where + "a register", decl.type);
        return;
      }
    }
  }

 private:
  // A scalar in .param cannot be a pair, and an opaque type is only allowed as a parameter of an entry.
  static bool is_odd(const Type& type, bool array, bool entry = false) {
    return (type == f16x2 && !array) || (ir::is_opaque(type) && !entry);
  }

  void refuse(const std::string& what, const Type& type) {
    const std::optional<Type> storage = ir::storage_of(type);
    out_.push_back({.code = "type-without-storage",
                    .message = what + " is declared as ." + std::string(type.name) +
                               ", a type that such a declaration cannot have",
                    .hint = storage ? "declare it as ." + std::string(storage->name)
                                    : "declare .b8 and pack the values yourself"});
  }

  Diagnostics& out_;
};

}  // namespace

void check_storage(const ir::Module& module, Diagnostics& out) {
  StorageCheck check(out);
  for (const ir::Variable& variable : module.variables) {
    check.variable("", variable, true);
    check.sampler("variable " + variable.name, variable.type, module.modes);
  }
  for (const ir::Function& function : module.functions) {
    const std::string where = (function.entry ? "kernel " : "function ") + function.name + ": ";
    for (const ir::Parameter& parameter : function.parameters) {
      check.parameter(where, parameter, function.entry);
      check.sampler(where + "parameter " + parameter.name, parameter.type, module.modes);
    }
    for (const ir::Parameter& result : function.results) check.parameter(where, result, false);
    for (const ir::Variable& variable : function.variables) check.variable(where, variable, false);
    for (const ir::Prototype& prototype : function.prototypes)
      for (const auto* list : {&prototype.parameters, &prototype.results})
        for (const ir::Parameter& parameter : *list) check.parameter(where, parameter, false);
    check.registers(where, function);
  }
}

}  // namespace ptxloom::check_rules
