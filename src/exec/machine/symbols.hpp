// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "exec/machine/code.hpp"

// The placement of the names of a kernel and of the functions it calls: kernel parameters in the parameter
// buffer, arguments of functions in local memory, variables in their state spaces.
namespace ptxloom::exec {

struct Place {
  StateSpace space = StateSpace::global;
  std::uint64_t offset = 0;  ///< in the space; for a global variable its address
  std::size_t variable = 0;  ///< for a global variable: index into Code::globals
  bool in_frame = false;     ///< local: the offset is in the frame of the function
};

class Symbols {
 public:
  /// Lays out the variables of the module, the kernel and its callees, and sets the sizes in `code`.
  Symbols(const ir::Module& module, Code& code);

  /// Null for a name that is neither variable nor parameter. `function` is numbered as in
  /// Operation::function.
  const Place* find(std::size_t function, std::string_view name) const;

 private:
  using Names = std::map<std::string, Place, std::less<>>;

  void place_parameters(Code& code);
  void place_function(Code& code, std::size_t index);
  void place_dynamic(const ir::Module& module, Code& code);
  void place_variable(Code& code, const ir::Variable& variable, Names& names, Callee* framed = nullptr);
  void name_variable(Code& code, const ir::Variable& variable) const;
  void fill_addresses(Code& code, const ir::Variable& variable) const;

  std::uint64_t next_address_;  // of a global variable
  Names module_;
  std::vector<Names> functions_;
};

}  // namespace ptxloom::exec
