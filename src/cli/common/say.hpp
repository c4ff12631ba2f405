// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <utility>

#include "base/standard_streams.hpp"

namespace ptxloom::cli {

/// Prints anything that is not data to stderr. Unlike fmt::print it never throws if stderr cannot be written
/// to: no progress line is worth losing a search.
template <typename... Values>
void say(fmt::format_string<Values...> format, Values&&... values) {
  write_to_stderr(fmt::format(format, std::forward<Values>(values)...));
}

}  // namespace ptxloom::cli
