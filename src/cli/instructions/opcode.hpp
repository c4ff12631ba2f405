// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ptxloom/specs.hpp"

namespace ptxloom::cli {

/// The variants of the one opcode that the user means: the full text, a prefix, or words with "..." for any
/// modifiers. An opcode may have several variants, with different operands. Throws Error(usage):
/// "ambiguous-opcode" with a list of the matches, "unknown-opcode" with the nearest opcode.
std::vector<Variant> find_opcode(const Specs& specs, const std::string& wanted,
                                 const std::optional<Target>& target);

/// Whether find_opcode would succeed for some target.
bool means_one_opcode(const Specs& specs, const std::string& wanted);

/// "mma.sync.aligned... D, A, B, C;"
std::string example(Variant variant);

}  // namespace ptxloom::cli
