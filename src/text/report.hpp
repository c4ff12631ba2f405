// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include "ptxloom/error.hpp"

namespace ptxloom::text {

/// Collects diagnostics; stops the reading after too many.
class Report {
 public:
  void add(Diagnostic diagnostic) {
    if (!full()) diagnostics_.push_back(std::move(diagnostic));
  }
  bool full() const { return diagnostics_.size() >= kMost; }
  std::vector<Diagnostic> take() { return std::move(diagnostics_); }

 private:
  static constexpr std::size_t kMost = 200;
  std::vector<Diagnostic> diagnostics_;
};

}  // namespace ptxloom::text
