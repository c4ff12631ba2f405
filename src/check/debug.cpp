// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "check/needs.hpp"
#include "check/rules.hpp"

// Debug information: what `.target debug` promises, and the places that `inlined_at` refers to.
namespace ptxloom::check_rules {
namespace {

using Place = std::array<std::uint32_t, 3>;

Place place_of(const ir::Location::Place& place) { return {place.file, place.line, place.column}; }

void check_locations(const ir::Function& function, std::set<Place>& seen, Diagnostics& out) {
  for (const ir::Location& location : function.locations) {
    if (location.inlined_at && !seen.contains(place_of(*location.inlined_at))) {
      const auto [file, line, column] = place_of(*location.inlined_at);
      out.push_back({.code = "debug-information",
                     .message = std::string(kind_of(function)) + function.name +
                                ": no .loc before it has the place " + std::to_string(file) + " " +
                                std::to_string(line) + " " + std::to_string(column) +
                                ", which inlined_at names",
                     .hint = "write a .loc of the call before that of the inlined function"});
    }
    seen.insert(place_of(location.place));
  }
}

}  // namespace

void check_debug(const ir::Module& module, Diagnostics& out) {
  const bool debug = std::ranges::find(module.modes, "debug") != module.modes.end();
  if (debug && module.sections.empty())
    out.push_back(
        {.code = "debug-information",
         .message = ".target has the mode debug, but the module has no section of debug information",
         .hint = "leave the mode out, or add the .section directives"});
  std::set<Place> seen;
  for (const ir::Function& function : module.functions) check_locations(function, seen, out);
}

}  // namespace ptxloom::check_rules
