// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptxloom/ir.hpp"
#include "ptxloom/jit.hpp"
#include "ptxloom/plan.hpp"

// Words of a configuration that every template has: how its kernel is built, not what it does.
//   maxnreg       registers a thread may have: `.maxnreg`; 0 = as many as it likes
//   minnctapersm  blocks that must fit on an SM: `.minnctapersm`; 0 = no matter
//   optimise      0 to 3, of the linker
//   link          one more option of the linker, such as -Xptxas=--allow-expensive-optimizations=true; - =
//   none
// They stand in records and on the command line beside the template's own words, are searched where several
// values are given, and left out where they have their defaults: 0, 0, 3, -.
namespace [[gnu::visibility("default")]] ptxloom {

struct BuildWords {
  Settings build;   ///< the words above that are given and not the default
  Settings config;  ///< the template's own
};
BuildWords split_build_words(const Settings& words);
bool is_build_word(std::string_view name);

/// Puts the directives into the kernels of a module. Throws Error(usage, "bad-value").
void apply_build_words(const Settings& build, ir::Module& module);
/// What the linker is told. Throws Error(usage, "bad-value").
LinkOptions link_options(const Settings& build);
/// How a record's "flags" say it: "-O3", "-O3 -Xptxas=..."
std::string link_flags(const Settings& build);

}  // namespace ptxloom
