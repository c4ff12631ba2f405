// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ptxloom/target.hpp"

// What a PTX text says of itself at its top, without reading the rest.
namespace ptxloom::jit {

/// The first word after a directive such as ".target", outside comments; nullopt if the text lacks it.
std::optional<std::string> directive_argument(std::string_view ptx, std::string_view directive);

/// The PTX version of the text; nullopt if it gives none that can be read.
std::optional<Version> ptx_version_of(std::string_view ptx);

}  // namespace ptxloom::jit
