// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "exec/code.hpp"

// Where the names of a kernel lie: parameters in the parameter buffer, variables in their spaces.
namespace ptxloom::exec {

struct Place {
  StateSpace space = StateSpace::global;
  std::uint64_t offset = 0;  ///< in the space
  std::size_t variable = 0;  ///< of a global one: index into Code::globals
};

class Symbols {
 public:
  /// Lays out the variables of the module and of the kernel, and sets the sizes in `code`.
  Symbols(const ir::Module& module, Code& code);

  /// Null for a name that is no variable or parameter.
  const Place* find(std::string_view name) const;

 private:
  void place_parameters(Code& code);
  void place_dynamic(const ir::Module& module, Code& code);
  void place_variable(Code& code, const ir::Variable& variable);

  std::map<std::string, Place, std::less<>> places_;
};

}  // namespace ptxloom::exec
