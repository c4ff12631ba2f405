// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <charconv>

#include "ptxloom/tune.hpp"

namespace ptxloom {

Budget parse_budget(std::string_view text) {
  const auto bad = [&] {
    return Error(ErrorKind::usage, "bad-budget", fmt::format("'{}' is not a budget", text),
                 "give seconds (30) or a number of evaluations (200evals), more than 0 and at most 1e9");
  };
  const bool evaluations = text.ends_with("evals");
  const std::string_view number = evaluations ? text.substr(0, text.size() - 5) : text;
  double value = 0;
  const auto [stop, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc() || stop != number.data() + number.size() || !(value > 0) || value > 1e9)
    throw bad();
  if (!evaluations) return {.seconds = value};
  if (value < 1 || value != static_cast<double>(static_cast<std::uint64_t>(value))) throw bad();
  return {.evaluations = static_cast<std::uint64_t>(value)};
}

}  // namespace ptxloom
