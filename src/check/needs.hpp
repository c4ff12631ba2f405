// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ptxloom/ir.hpp"
#include "ptxloom/target.hpp"
#include "spec/directives.hpp"

// What a module has beside its instructions that some targets or PTX versions lack: directives, pragmas, and
// what specs/directives.json calls features. The check and the requirement of a module both ask here, so that
// they agree.
namespace ptxloom::check_rules {

struct ModuleNeed {
  std::string_view kind, owner;   ///< whose it is: "kernel ", "k"
  std::string_view prefix, what;  ///< "the pragma ", "frequency"; "", ".language"
  const spec::Need& need;
};

/// Calls `use` for each that has a need.
void for_each_need(const ir::Module& module, const spec::Directives& directives,
                   const std::function<void(const ModuleNeed&)>& use);

/// The lowest PTX version that has all of these on the target.
Version lowest_beside_instructions(const ir::Module& module, const Target& target);

/// The directives in a function, and in its prototypes and locations, that some targets or PTX versions lack.
std::vector<std::string_view> directives_of(const ir::Function& function);

/// "kernel " or "function ".
inline std::string_view kind_of(const ir::Function& function) {
  return function.entry ? "kernel " : "function ";
}

/// What C skips in front of a number.
inline constexpr std::string_view kWhitespace = " \t\n\v\f\r";

/// Calls `use` with the first word of each string in `"nounroll", "frequency 4"`, and with what follows it
/// behind one white space or `=`.
template <class F>
void for_each_pragma(std::string_view pragmas, F use) {
  for (std::size_t open = pragmas.find('"'); open != pragmas.npos;) {
    const std::size_t close = std::min(pragmas.find('"', open + 1), pragmas.size());
    const std::string_view text = pragmas.substr(open + 1, close - open - 1);
    const std::size_t end = std::min(text.find_first_of(std::string(kWhitespace) + "="), text.size());
    use(text.substr(0, end), text.substr(std::min(end + 1, text.size())));
    open = pragmas.find('"', std::min(close + 1, pragmas.size()));
  }
}

/// The bytes of an entry's parameters, of sizes that signature(), which counts in 32 bits, does not wrap.
std::uint64_t bytes_of_parameters(const ir::Function& function);

}  // namespace ptxloom::check_rules
