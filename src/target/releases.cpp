// SPDX-License-Identifier: Apache-2.0
#include "target/releases.hpp"

namespace ptxloom::target {

Releases parse_releases(std::string_view text) {
  const std::size_t dash = text.find('-');
  Releases releases{.from = parse_version(text.substr(0, dash))};
  if (dash != text.npos) releases.until = parse_version(text.substr(dash + 1));
  return releases;
}

}  // namespace ptxloom::target
