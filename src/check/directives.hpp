// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "ptxloom/ir.hpp"

namespace ptxloom::check_rules {

/// The directives in a function, and in its prototypes and locations, that some targets or PTX versions lack.
std::vector<std::string_view> directives_of(const ir::Function& function);

}  // namespace ptxloom::check_rules
