// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "ptxloom/target.hpp"

// Releases of CUDA that a fact about their assemblers holds for.
namespace ptxloom::target {

struct Releases {
  Version from, until{9999, 0};  ///< both included; by default all

  bool contains(Version release) const { return from <= release && release <= until; }
  friend bool operator==(const Releases&, const Releases&) = default;
};

/// "13.2": that release and all later ones; "13.0-13.2": these. Throws Error(usage, "bad-version").
Releases parse_releases(std::string_view text);

}  // namespace ptxloom::target
