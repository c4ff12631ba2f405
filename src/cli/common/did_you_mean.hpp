// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ptxloom::cli {

/// "did you mean 'data-race'? ", or nothing if no candidate is near: at most a third of the letters, rounded
/// up, differ.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

}  // namespace ptxloom::cli
