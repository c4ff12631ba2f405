// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ptxloom/ir.hpp"
#include "ptxloom/jit.hpp"
#include "ptxloom/plan.hpp"

/// \file
/// Configuration parameters that every template has. They say how a kernel is built, not what it does:
///
/// | parameter | meaning | values | default |
/// |---|---|---|---|
/// | `maxnreg` | registers that a thread may have (`.maxnreg`) | 0 (no limit) to 255 | 0 |
/// | `minnctapersm` | thread blocks that must fit on an SM (`.minnctapersm`) | 0 (no demand) to 32 | 0 |
/// | `optimise` | optimisation level of the linker | 0 to 3 | 3 |
/// | `link` | one more linker option, such as `-Xptxas=--allow-expensive-optimizations=true` | | `-` (none) |
///
/// Records and the command line have them next to the template's own parameters. A tuner searches those that
/// are given several values. A parameter with its default is left out.
namespace [[gnu::visibility("default")]] ptxloom {

/// A configuration in two parts.
struct BuildWords {
  Settings build;   ///< the parameters above that are given and differ from their defaults
  Settings config;  ///< the template's own
};
/// Splits a configuration. No value is checked.
BuildWords split_build_words(const Settings& words);
/// The names of the parameters above.
std::vector<std::string_view> build_word_names();
/// Whether this is one of the parameters above.
bool is_build_word(std::string_view name);

/// Adds the directives to every kernel of the module. Throws Error(usage, "bad-value").
void apply_build_words(const Settings& build, ir::Module& module);
/// The linker's options. Their target is empty. Throws Error(usage, "bad-value").
LinkOptions link_options(const Settings& build);
/// The linker's options as Record::flags has them: "-O3", "-O3 -Xptxas=...". Throws as link_options.
std::string link_flags(const Settings& build);

}  // namespace ptxloom
