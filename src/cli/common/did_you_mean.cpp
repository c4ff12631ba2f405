// SPDX-License-Identifier: Apache-2.0
#include "cli/common/did_you_mean.hpp"

#include <fmt/format.h>

#include "base/nearest.hpp"

namespace ptxloom::cli {

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  const std::string best = nearest(word, candidates);
  const std::size_t most = (word.size() + 2) / 3;
  if (best.empty() || edit_distance(word, best) > most) return {};
  return fmt::format("did you mean '{}'? ", best);
}

}  // namespace ptxloom::cli
