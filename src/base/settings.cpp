// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/settings.hpp"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <stdexcept>

namespace ptxloom {

namespace {

const std::string& text_of(const Settings& settings, std::string_view name) {
  const auto found = settings.find(name);
  if (found == settings.end()) throw std::out_of_range(fmt::format("no parameter {}", name));
  return found->second;
}

}  // namespace

std::uint64_t number_of(const Settings& settings, std::string_view name) {
  return std::stoull(text_of(settings, name));
}

std::uint32_t size_of(const Settings& settings, std::string_view name) {
  const std::uint64_t number = number_of(settings, name);
  if (number > std::numeric_limits<std::uint32_t>::max())
    throw std::out_of_range(fmt::format("{}={} is larger than a size", name, number));
  return static_cast<std::uint32_t>(number);
}

// Not std::stod, which throws for numbers as small as 1e-310.
double real_of(const Settings& settings, std::string_view name) {
  const std::string& text = text_of(settings, name);
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace ptxloom
