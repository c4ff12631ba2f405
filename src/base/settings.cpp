// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/settings.hpp"

#include <charconv>

namespace ptxloom {

std::uint64_t number(const Settings& settings, const std::string& name) {
  return std::stoull(settings.at(name));
}

// Not std::stod, which throws for numbers as small as 1e-310.
double real(const Settings& settings, const std::string& name) {
  const std::string& text = settings.at(name);
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace ptxloom
