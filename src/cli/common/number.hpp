// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

#include "ptxloom/error.hpp"

// Numeric options. Each has a range; text after the digits, an overflow, nan and inf are rejected too.
namespace ptxloom::cli {

/// Throws Error(usage, "bad-option").
template <typename Number>
Number parse_number(std::string_view option, std::string_view text, Number least, Number most) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && stop == end && value >= least && value <= most) return value;
  throw Error(ErrorKind::usage, "bad-option",
              fmt::format("{} '{}': this is not {} from {} to {}", option, text,
                          std::is_integral_v<Number> ? "an integer" : "a number", least, most));
}

template <typename Number>
CLI::Option* add_number(CLI::App& app, const std::string& option, Number& value,
                        std::type_identity_t<Number> least, std::type_identity_t<Number> most,
                        const std::string& does) {
  return app
      .add_option_function<std::string>(
          option, [=, &value](const std::string& text) { value = parse_number(option, text, least, most); },
          fmt::format("{} ({} to {})", does, least, most))
      ->type_name("N");
}

}  // namespace ptxloom::cli
