// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <utility>

#include "base/standard_streams.hpp"

namespace ptxloom::cli {

/// What is not data, to stderr. Never throws for a stderr that cannot be written to, as fmt::print does: no
/// progress line is worth a search.
template <typename... Values>
void say(fmt::format_string<Values...> format, Values&&... values) {
  write_to_stderr(fmt::format(format, std::forward<Values>(values)...));
}

}  // namespace ptxloom::cli
